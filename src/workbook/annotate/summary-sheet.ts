import type { Finding } from '../../domain/rules/finding';
import { harmless } from '../../domain/text';
import { columnLetter } from '../sheet/addresses';
import { textElement, xmlData } from '../ooxml/xml-edit';

/** The text of a summary's cell A1; with the sheet's name it distinguishes our sheet from a user's. */
export const SUMMARY_TITLE = 'eBRC check';
export const SUMMARY_NAME = 'eBRC Summary';
/** Most findings that are listed; the others are in their cells. */
const MAX_LISTED = 2000;
const WIDTHS = [12, 10, 26, 26, 110];

type Value = string | number | null;

/** Styles by their numbers in the style sheet. */
export interface SummaryStyles {
  title: number;
  heading: number;
  wrapped: number;
}

/** The XML of a sheet that counts rows by status and findings by kind, and lists the findings with links to cells. */
export function summarySheet(
  statuses: readonly string[],
  { sheet, findings }: { sheet: string; findings: readonly Finding[] },
  styles: SummaryStyles,
  main: string,
): string {
  const rows: string[] = [];
  const add = (values: readonly Value[], style = 0) => rows.push(rowXml(rows.length + 1, values, style));
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
    add([row, column ?? null, field, code, harmless(message)], styles.wrapped);
    if (row !== null) links.push(linkXml(`A${rows.length}`, sheet, `${column ?? 'A'}${row}`));
  }
  if (findings.length > MAX_LISTED) add([`… and ${findings.length - MAX_LISTED} more, in their cells.`]);
  const hyperlinks = links.length > 0 ? `<hyperlinks>${links.join('')}</hyperlinks>` : '';
  const columns = WIDTHS.map((width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`);
  return `<worksheet xmlns="${main}"><cols>${columns.join('')}</cols><sheetData>${rows.join('')}</sheetData>${hyperlinks}</worksheet>`;
}

function linkXml(at: string, sheet: string, to: string): string {
  const place = `'${sheet.replaceAll("'", "''")}'!${to}`;
  return `<hyperlink ref="${at}" location="${xmlData(place)}"/>`;
}

function rowXml(number: number, values: readonly Value[], style: number): string {
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
