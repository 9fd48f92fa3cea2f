import { columnOfHeader } from '../../domain/rules/columns';
import type { Finding } from '../../domain/rules/finding';
import { isFilingDate, isoFromFilingDate } from '../../domain/dates';
import { groupBy } from '../../domain/values';
import type { CellStyles } from './cell-styles';
import { DATE_HEADER, ERRORS_HEADER, NUMBER_HEADER, STATUS_HEADER } from '../sheet/headers';
import { harmless } from '../../domain/text';
import { attribute } from '../ooxml/xml-edit';
import type { PackageEditor } from '../ooxml/package-editor';
import { RowEdits } from './row-edits';
import { openFrame, withColumnWidths, withLastColumn } from './sheet-frame';
import { columnLetter, LAST_COLUMN, placeOf } from '../sheet/addresses';
import type { findFilledRows } from '../sheet/filled-rows';

/** Values of the Status column. `ebrc correct` files the rows with {@link ERROR_STATUS}. */
const ERROR_STATUS = 'Error';
const WARNING_STATUS = 'Warning';
const OK_STATUS = 'OK';

/** Maximum text of a cell in the format, minus room for our own text. */
const MAX_TEXT_LENGTH = 32_000;
const STATUS_WIDTH = 22;
const ERRORS_WIDTH = 80;

export interface SheetAnnotation {
  part: string;
  filledRows: ReturnType<typeof findFilledRows>;
  findings: readonly Finding[];
  outcomes: ReadonlyMap<number, RowOutcome>;
  styles: CellStyles;
}

/** A row's outcome. Certificates have their own columns. */
export interface RowOutcome {
  row: number;
  status: string;
  eBRCNumber?: string | null;
  /** DDMMYYYY. */
  eBRCDate?: string | null;
}

/** Writes findings into a sheet in place of earlier marks. @returns each data row's Status */
export async function annotateSheet(editor: PackageEditor, annotation: SheetAnnotation): Promise<string[]> {
  const { part, styles } = annotation;
  const frame = openFrame((await editor.xml(part)) ?? '');
  if (!frame) return [];
  const edits = new RowEdits();
  removeMarks(edits, frame.rows, styles);
  markCells(edits, annotation);
  const { head, statuses } = writeColumns(edits, frame.head, annotation);
  await editor.setPieces(part, [[head], edits.apply(frame.rows), [frame.tail]]);
  if (edits.formulasGone) await dropCalculationChain(editor);
  return statuses;
}

/** Errors about the file or its headers, because of which no row is filed. */
const errorsOfFile = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ severity, row }) => severity === 'error' && (row === null || row === 1));

/** Removes the fills of an earlier run, which are known by their colours. */
function removeMarks(edits: RowEdits, rows: string, styles: CellStyles): void {
  for (const [tag] of rows.matchAll(/<c(?=[\s/>])[^<>]*>/g)) {
    const style = Number(attribute(tag, 's') ?? 0);
    if (styles.unmarked(style) === style) continue;
    edits.edit(...placeOf(attribute(tag, 'r') ?? ''), { style: (before) => styles.unmarked(before) });
  }
}

/** Fills failing cells; an error about a row or the file fills its Status. */
function markCells(edits: RowEdits, { filledRows, findings, styles }: SheetAnnotation): void {
  const { headers, dataRows } = filledRows;
  const indexes = new Map([
    ...headers.optional.flatMap(({ label, index }): [string, number][] => [
      [label, index],
      [columnOfHeader(label)?.field ?? label, index],
    ]),
    ...[...headers.columns].map(([field, { index }]): [string, number] => [field, index]),
  ]);
  const status = statusColumn(filledRows);
  const withStatus = new Set(status < LAST_COLUMN ? [1, ...dataRows] : []);
  const byCell = groupBy(findings, ({ row: ofRow, field, severity }) => {
    if (ofRow === null && severity !== 'error') return undefined;
    const row = ofRow ?? 1;
    const index =
      (field === null ? undefined : indexes.get(field)) ??
      (severity === 'error' && withStatus.has(row) ? status : undefined);
    return index === undefined ? undefined : `${columnLetter(index)}${row}`;
  });
  for (const [address, about] of byCell) {
    const severity = about.some((finding) => finding.severity === 'error') ? 'error' : 'warning';
    edits.edit(...placeOf(address), { style: (style) => styles.marked(style, severity) });
  }
}

function writeColumns(edits: RowEdits, head: string, { filledRows, findings, outcomes }: SheetAnnotation) {
  const { headers, dataRows, emptiedRows } = filledRows;
  const byRow = groupBy(findings, ({ row }) => (row === null ? undefined : String(row)));
  const ofFile = errorsOfFile(findings);
  const foundIn = (row: number) => [...(byRow.get(String(row)) ?? []), ...(outcomes.has(row) ? [] : ofFile)];
  const words = new Map(
    dataRows.map((row): [number, string] => [row, statusOf(foundIn(row), outcomes.get(row)?.status)]),
  );
  const statuses = [...words.values()];
  const status = statusColumn(filledRows);
  // A sheet filled up to its last column has no room; the summary still has all findings.
  if (status >= LAST_COLUMN) return { head, statuses };
  edits.edit(1, status, { text: STATUS_HEADER });
  edits.edit(1, status + 1, { text: ERRORS_HEADER });
  for (const [row, word] of words) {
    const found = foundIn(row);
    edits.edit(row, status, { text: harmless(word) });
    edits.edit(row, status + 1, { text: found.length === 0 ? null : harmless(explain(found)) });
  }
  const certificates = [...outcomes.values()].filter(({ eBRCNumber }) => eBRCNumber);
  if (certificates.length > 0 && status + 3 <= LAST_COLUMN) writeCertificates(edits, status + 2, certificates);
  if (headers.status) {
    for (const row of emptiedRows) {
      edits.edit(row, status, { text: null });
      edits.edit(row, status + 1, { text: null });
    }
    return { head, statuses };
  }
  const last = status + (certificates.length > 0 ? 3 : 1);
  const added = [status, status + 1, status + 2, status + 3].filter((column) => column <= Math.min(last, LAST_COLUMN));
  edits.copyStyle(1, status - 1, added);
  const widths = new Map(added.map((column) => [column, column === status + 1 ? ERRORS_WIDTH : STATUS_WIDTH]));
  return { head: withColumnWidths(withLastColumn(head, Math.min(last, LAST_COLUMN)), widths), statuses };
}

/** Writes the rows' certificates into two columns after Errors. */
function writeCertificates(edits: RowEdits, column: number, certificates: readonly RowOutcome[]): void {
  edits.edit(1, column, { text: NUMBER_HEADER });
  edits.edit(1, column + 1, { text: DATE_HEADER });
  for (const { row, eBRCNumber = null, eBRCDate = null } of certificates) {
    edits.edit(row, column, { text: eBRCNumber && harmless(eBRCNumber) });
    edits.edit(row, column + 1, { text: isFilingDate(eBRCDate) ? isoFromFilingDate(eBRCDate) : eBRCDate });
  }
}

function statusColumn({ headers, lastColumn }: SheetAnnotation['filledRows']): number {
  return headers.status?.index ?? lastColumn + 1;
}

/** Removes the calculation chain: if it named a removed formula, Excel would offer a repair. Excel makes a new one. */
async function dropCalculationChain(editor: PackageEditor): Promise<void> {
  const relations = await editor.relations(editor.workbookPart);
  for (const { type, part } of relations.values())
    if (type === 'calcChain') await editor.remove(editor.workbookPart, part);
}

function statusOf(found: readonly Finding[], outcome: string | undefined): string {
  if (found.some(({ severity }) => severity === 'error')) return ERROR_STATUS;
  return outcome ?? (found.length > 0 ? WARNING_STATUS : OK_STATUS);
}

function explain(found: readonly Finding[]): string {
  const [first, ...more] = errorsOfFile(found);
  const errors = found
    .filter(({ severity, row }) => severity === 'error' && row !== null && row !== 1)
    .map(({ message }) => message);
  // In each of thousands of rows only the first; the summary has them all.
  if (first)
    errors.push(`The whole file is refused: ${first.message}${more.length > 0 ? ` And ${more.length} more.` : ''}`);
  const warnings = found.filter(({ severity }) => severity === 'warning').map(({ message }) => `Warning: ${message}`);
  return [...errors, ...warnings].join(' ').slice(0, MAX_TEXT_LENGTH);
}
