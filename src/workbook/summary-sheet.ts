import type { Workbook } from 'exceljs';
import type { Finding } from '../domain/finding';
import { harmless } from './marks';

const TITLE = 'eBRC check';
const SHEET = 'eBRC Summary';
/** Findings that are listed one by one; the rest stand in their cells. */
const MOST_LISTED = 2000;

/** Adds the summary behind the other sheets, or replaces that of an earlier run: the first sheet stays the one that is read. */
export function writeSummary(
  workbook: Workbook,
  statuses: readonly string[],
  findings: readonly Finding[],
  whole: boolean,
): void {
  for (const sheet of [...workbook.worksheets]) {
    if (sheet.name.startsWith(SHEET) && sheet.getCell('A1').value === TITLE) workbook.removeWorksheet(sheet.id);
  }
  const sheet = workbook.addWorksheet(freeName(workbook));
  sheet.columns = [{ width: 12 }, { width: 10 }, { width: 26 }, { width: 26 }, { width: 110 }];
  sheet.addRow([TITLE]).font = { bold: true, size: 14 };
  sheet.addRow(['Rows', statuses.length]);
  for (const [status, count] of counted(statuses)) sheet.addRow([harmless(status), count]);
  if (!whole) sheet.addRow(['Only the first worksheet of the workbook could be kept.']);
  sheet.addRow([]);
  sheet.addRow(['Count', 'Severity', 'Code']).font = { bold: true };
  for (const [what, count] of counted(findings.map(({ severity, code }) => `${severity} ${code}`)))
    sheet.addRow([count, ...what.split(' ')]);
  sheet.addRow([]);
  sheet.addRow(['Row', 'Column', 'Field', 'Code', 'Message']).font = { bold: true };
  for (const { row, column, field, code, message } of findings.slice(0, MOST_LISTED)) {
    sheet.addRow([row, column ?? null, field, code, harmless(message)]);
  }
  if (findings.length > MOST_LISTED) sheet.addRow([`… and ${findings.length - MOST_LISTED} more, in their cells.`]);
}

function freeName(workbook: Workbook): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? SHEET : `${SHEET} ${number}`;
    if (!workbook.worksheets.some((sheet) => sheet.name.toLowerCase() === name.toLowerCase())) return name;
  }
}

function counted(words: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}
