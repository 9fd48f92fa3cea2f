import { headerOf } from '../domain/rules/columns';
import type { Finding } from '../domain/rules/finding';
import { annotateSheet, type RowOutcome } from './annotate/annotate-sheet';
import { CellStyles, NO_STYLES } from './annotate/cell-styles';
import type { WorkbookDirectory, WorkbookPackage } from './ooxml/package';
import { withSheetHeaders } from './sheet/headers';
import { openSheet, openWorkbook } from './sheet/open-workbook';
import { type WorkbookLimits, WORKBOOK_LIMITS, WorkbookRefused } from './ooxml/limits';
import { PackageEditor, XML_START } from './ooxml/package-editor';
import { findFilledRows, textsOf } from './sheet/filled-rows';
import { appendChild, attribute, textElement, xmlData } from './ooxml/xml-edit';
import { harmless } from '../domain/text';
import { columnLetter } from './sheet/addresses';

export interface Annotation {
  /** The caller's workbook: a path, or its bytes. */
  source: string | Buffer;
  /** Findings by Excel row (the header is 1): of the check, of the upload, or of the authority later. */
  findings: readonly Finding[];
  /** Outcomes of rows for the Status column, such as `certified`. A row with an error gets `Error`. */
  rowOutcomes?: readonly RowOutcome[];
  limits?: Partial<WorkbookLimits>;
}

const STYLES_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml';

/**
 * Writes findings into the caller's workbook: filled cells, Status and Errors columns, a summary sheet. They replace
 * earlier marks; everything else stays byte for byte the same.
 * @throws WorkbookRefused if the file cannot be read
 */
export async function annotateWorkbook(args: Annotation): Promise<Buffer> {
  const { source, findings: given, rowOutcomes = [], limits = {} } = args;
  const bounds = { ...WORKBOOK_LIMITS, ...limits };
  const { opened, directory, filledRows } = await openFilledRows(source, bounds, given);
  const findings = withSheetHeaders(given, filledRows.headers.columns);
  const editor = new PackageEditor(opened, directory.part);
  const stylesPart = directory.parts.styles ?? (await addStyles(editor));
  const styles = new CellStyles((await editor.xml(stylesPart)) ?? NO_STYLES((await editor.namespaces()).main));
  const statuses = await annotateSheet(editor, {
    part: directory.sheets[0]?.part ?? '',
    filledRows,
    findings,
    outcomes: new Map(rowOutcomes.map((outcome) => [outcome.row, outcome])),
    styles,
  });
  const { main } = await editor.namespaces();
  const look = { title: styles.heading(14), heading: styles.heading(11), wrapped: styles.wrapped() };
  const summary = XML_START + summarySheet(statuses, { sheet: directory.sheets[0]?.name ?? '', findings }, look, main);
  await placeSummary(editor, await earlierSummary(opened, directory, bounds), directory, summary);
  editor.set(stylesPart, styles.xml);
  return editor.save();
}

/** What annotating needs to know of the sheet, so that rows and their texts need not stay in memory. */
async function openFilledRows(file: string | Buffer, limits: WorkbookLimits, findings: readonly Finding[]) {
  const { source: opened, directory, first } = await openWorkbook(file, limits);
  const filled = findFilledRows(first);
  // A row with a finding was not left out even if its invoice is empty: the check knows merged cells and GST invoices.
  const named = new Set(findings.map(({ row }) => row));
  const isNamed = (row: number) => named.has(row);
  const dataRows = [...filled.dataRows, ...filled.emptiedRows.filter(isNamed)];
  const emptiedRows = filled.emptiedRows.filter((row) => !isNamed(row));
  return { opened, directory, filledRows: { ...filled, dataRows, emptiedRows } };
}

async function addStyles(editor: PackageEditor): Promise<string> {
  const part = (number: number) => `xl/styles${number === 1 ? '' : number}.xml`;
  const xml = XML_START + NO_STYLES((await editor.namespaces()).main);
  const id = await editor.add(editor.workbookPart, 'styles', part, { xml, contentType: STYLES_TYPE });
  return (await editor.relations(editor.workbookPart)).get(id)?.part ?? part(1);
}

/** The part of an earlier summary: a sheet with our name and title, other than the first one, which is filed. */
async function earlierSummary(source: WorkbookPackage, directory: WorkbookDirectory, limits: WorkbookLimits) {
  for (const entry of directory.sheets.slice(1)) {
    if (!entry.name.startsWith(SUMMARY_NAME)) continue;
    try {
      const { sheet, context } = await openSheet(source, directory, entry, limits);
      const first = sheet.rows().next();
      if (!first.done && textsOf(first.value, context)[1] === SUMMARY_TITLE) return entry.part;
    } catch (error) {
      // A sheet that cannot be read is not one of ours.
      if (!(error instanceof WorkbookRefused)) throw error;
    }
  }
  return undefined;
}

/** Replaces an earlier summary, or appends one: the first sheet must stay the one that is filed. */
async function placeSummary(
  editor: PackageEditor,
  earlier: string | undefined,
  { sheets }: WorkbookDirectory,
  xml: string,
): Promise<void> {
  if (earlier !== undefined) {
    editor.set(earlier, xml);
    return;
  }
  const { workbookPart } = editor;
  const id = await editor.add(workbookPart, 'worksheet', (number) => `xl/worksheets/sheet${number}.xml`, {
    xml,
    contentType: SHEET_TYPE,
  });
  const workbook = (await editor.xml(workbookPart)) ?? '';
  const { relations } = await editor.namespaces();
  const numbers = [...workbook.matchAll(/<sheet\s[^<>]*>/g)].map(([tag]) => Number(attribute(tag, 'sheetId') ?? 0));
  const taken = new Set(sheets.map(({ name }) => name.toLowerCase()));
  const entry = `<sheet xmlns:r="${relations}" name="${freeName(taken)}" sheetId="${Math.max(0, ...numbers) + 1}" r:id="${id}"/>`;
  editor.set(workbookPart, appendChild(workbook, 'sheets', entry));
}

function freeName(taken: ReadonlySet<string>): string {
  let name = SUMMARY_NAME;
  for (let number = 2; taken.has(name.toLowerCase()); number += 1) name = `${SUMMARY_NAME} ${number}`;
  return name;
}

/** Text of the summary's cell A1. With the sheet's name it tells our sheet from a user's. */
export const SUMMARY_TITLE = 'eBRC check';
export const SUMMARY_NAME = 'eBRC Summary';
/** Maximum number of findings listed; the others are in the Errors column only. */
const MAX_LISTED = 2000;
const WIDTHS = [12, 10, 26, 26, 110];

/** A summary sheet: rows counted by status, findings counted by kind, and listed with links to their cells. */
export function summarySheet(
  statuses: readonly string[],
  { sheet, findings }: { sheet: string; findings: readonly Finding[] },
  styles: { title: number; heading: number; wrapped: number },
  main: string,
): string {
  const rows: string[] = [];
  const add = (values: readonly (string | number | null)[], style = 0) =>
    rows.push(rowXml(rows.length + 1, values, style));
  add([SUMMARY_TITLE], styles.title);
  add(['Rows', statuses.length]);
  for (const [status, count] of counted(statuses)) add([harmless(status), count]);
  add([]);
  add(['Count', 'Severity', 'Code'], styles.heading);
  for (const [what, count] of counted(findings.map(({ severity, code }) => `${severity} ${code}`)))
    add([count, ...what.split(' ')]);
  add([]);
  add(['Row', 'Column', 'Field', 'Code', 'Message'], styles.heading);
  const links: string[] = [];
  for (const { row, column, field, code, message } of findings.slice(0, MAX_LISTED)) {
    add([row, column ?? null, headerOf(field), code, harmless(message)], styles.wrapped);
    if (row !== null) links.push(linkXml(`A${rows.length}`, sheet, `${column ?? 'A'}${row}`));
  }
  if (findings.length > MAX_LISTED) add([`… and ${findings.length - MAX_LISTED} more, in the Errors column.`]);
  const hyperlinks = links.length > 0 ? `<hyperlinks>${links.join('')}</hyperlinks>` : '';
  const columns = WIDTHS.map((width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`);
  return `<worksheet xmlns="${main}"><cols>${columns.join('')}</cols><sheetData>${rows.join('')}</sheetData>${hyperlinks}</worksheet>`;
}

function linkXml(at: string, sheet: string, to: string): string {
  const place = `'${sheet.replaceAll("'", "''")}'!${to}`;
  return `<hyperlink ref="${at}" location="${xmlData(place)}"/>`;
}

function rowXml(number: number, values: readonly (string | number | null)[], style: number): string {
  const cells = values.map((value, at) => {
    if (value === null) return '';
    const start = `<c r="${columnLetter(at + 1)}${number}"${style === 0 ? '' : ` s="${style}"`}`;
    return typeof value === 'number'
      ? `${start}><v>${value}</v></c>`
      : `${start} t="inlineStr"><is>${textElement(value)}</is></c>`;
  });
  return `<row r="${number}">${cells.join('')}</row>`;
}

function counted(words: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}
