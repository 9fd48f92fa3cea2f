import { rename, writeFile } from 'node:fs/promises';
import type { Cell, Row, Worksheet } from 'exceljs';
import { ValueType } from 'exceljs';
import type { Finding } from '../domain/finding';
import { groupBy } from '../domain/group-by';
import { cleanText } from './cell-content';
import { loadFullWorkbook } from './full-workbook';
import type { Headers } from './headers';
import { ERRORS_HEADER, STATUS_HEADER, readHeaders } from './headers';
import type { WorkbookLimits } from './limits';
import { WORKBOOK_LIMITS } from './limits';
import { CellMarker, clearMarks, harmless } from './marks';
import { openPackage } from './package';
import { columnLetter } from './sheet-xml';
import { writeSummary } from './summary-sheet';

export interface Annotation {
  /** The caller's workbook: a path, or its bytes. */
  source: string | Buffer;
  /** What was found, by Excel row (header is 1): by the check, by the service at upload, or by the authority later. */
  findings: readonly Finding[];
  /** What became of rows, in the words of the Status column, such as `certified`; a row with an error shows `Error`. */
  rowOutcomes?: readonly { row: number; status: string }[];
  /** Where the result is written too; a file that is there is replaced in one step. */
  output?: string;
  limits?: Partial<WorkbookLimits>;
}

/** The words of the Status column that this file writes; `ebrc correct` files the rows that say {@link ERROR_STATUS}. */
export const ERROR_STATUS = 'Error';
const WARNING_STATUS = 'Warning';
const OK_STATUS = 'OK';

/** Longest text of a cell in the format, less room for our own words. */
const LONGEST_TEXT = 32_000;

/**
 * Hands the caller's own workbook back with the findings in it: failing cells are filled and carry a note, a Status and an
 * Errors column stand behind the last column, a summary sheet counts. Everything else stays as it is; marks of an earlier
 * run are replaced. The result can be corrected and read again like any workbook.
 *
 * @returns the bytes of the annotated workbook
 * @throws WorkbookRefused for a file that is not read at all (its sentence says what to do)
 */
export async function annotateWorkbook({
  source,
  findings,
  rowOutcomes = [],
  output,
  limits = {},
}: Annotation): Promise<Buffer> {
  const bounds = { ...WORKBOOK_LIMITS, ...limits };
  const full = await loadFullWorkbook(await openPackage(source, bounds), bounds);
  const sheet = full.workbook.worksheets[0];
  if (sheet) {
    const statuses = annotateSheet(sheet, findings, new Map(rowOutcomes.map(({ row, status }) => [row, status])));
    writeSummary(full.workbook, statuses, findings, full.whole);
  }
  const bytes = await full.save();
  if (output !== undefined) await replaceFile(output, bytes);
  return bytes;
}

function annotateSheet(
  sheet: Worksheet,
  findings: readonly Finding[],
  outcomes: ReadonlyMap<number, string>,
): string[] {
  clearMarks(sheet);
  const headers = readHeaders(headerTexts(sheet.getRow(1)));
  const { dataRows, lastColumn } = survey(sheet, headers);
  markCells(sheet, headers, findings);
  const byRow = groupBy(findings, ({ row }) => (row === null ? undefined : String(row)));
  const status = headers.status?.index ?? lastColumn + 1;
  writeHeader(sheet, status, headers.status !== undefined);
  return dataRows.map((row) => {
    const found = byRow.get(String(row)) ?? [];
    const word = statusOf(found, outcomes.get(row));
    sheet.getCell(row, status).value = harmless(word);
    sheet.getCell(row, status + 1).value = found.length === 0 ? null : harmless(explain(found));
    return word;
  });
}

/** Which rows hold values, and the last column that does; our own columns count for neither. */
function survey(sheet: Worksheet, { status }: Headers): { dataRows: number[]; lastColumn: number } {
  const own = status?.index ?? Number.NaN;
  const dataRows: number[] = [];
  let lastColumn = 1;
  sheet.eachRow((row, number) => {
    let filled = false;
    row.eachCell((cell, index) => {
      if (index === own || index === own + 1 || textOf(cell) === '') return;
      filled = true;
      lastColumn = Math.max(lastColumn, index);
    });
    if (number === 1) return;
    if (filled) dataRows.push(number);
    else if (status) clearOwn(sheet, number, own);
  });
  return { dataRows, lastColumn };
}

/** The texts of a row by column number, for {@link readHeaders}. */
export function headerTexts(row: Row): string[] {
  const texts: string[] = [];
  row.eachCell((cell, index) => {
    if (textOf(cell) !== '') texts[index] = textOf(cell);
  });
  return texts;
}

/** What a cell shows; exceljs lends the text of a merged range to each of its cells, though only the first holds it. */
function textOf(cell: Cell): string {
  return cell.type === ValueType.Merge ? '' : cleanText(String(cell.text ?? ''));
}

function clearOwn(sheet: Worksheet, row: number, index: number): void {
  sheet.getCell(row, index).value = null;
  sheet.getCell(row, index + 1).value = null;
}

function markCells(sheet: Worksheet, headers: Headers, findings: readonly Finding[]): void {
  const marker = new CellMarker();
  const byCell = groupBy(findings, ({ row, field }) => {
    const at = field === null ? undefined : [...headers.columns].find(([name]) => name === field)?.[1];
    return row === null || at === undefined ? undefined : `${columnLetter(at.index)}${row}`;
  });
  for (const [address, about] of byCell) {
    const severity = about.some((finding) => finding.severity === 'error') ? 'error' : 'warning';
    marker.mark(
      sheet.getCell(address),
      severity,
      about.map(({ message }) => message),
    );
  }
}

function writeHeader(sheet: Worksheet, index: number, there: boolean): void {
  const before: Cell | undefined = index > 1 ? sheet.getCell(1, index - 1) : undefined;
  [STATUS_HEADER, ERRORS_HEADER].forEach((header, offset) => {
    const cell = sheet.getCell(1, index + offset);
    cell.value = header;
    if (there) return;
    if (before) cell.style = before.style;
    sheet.getColumn(index + offset).width = offset === 0 ? 12 : 80;
  });
}

function statusOf(found: readonly Finding[], outcome: string | undefined): string {
  if (found.some(({ severity }) => severity === 'error')) return ERROR_STATUS;
  return outcome ?? (found.length > 0 ? WARNING_STATUS : OK_STATUS);
}

/** All sentences about a row, errors first. */
function explain(found: readonly Finding[]): string {
  const errors = found.filter(({ severity }) => severity === 'error').map(({ message }) => message);
  const warnings = found.filter(({ severity }) => severity === 'warning').map(({ message }) => `Warning: ${message}`);
  return [...errors, ...warnings].join(' ').slice(0, LONGEST_TEXT);
}

async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  const unfinished = `${path}.${process.pid}.tmp`;
  await writeFile(unfinished, bytes);
  await rename(unfinished, path);
}
