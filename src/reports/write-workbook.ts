import { Workbook, type Alignment, type CellValue, type Worksheet } from 'exceljs';
import { KOLKATA_OFFSET_MS } from '../domain/dates';
import { ALL_ROWS, formatValue, table, type Figure, type Grouping, type Group, type Linked } from './report';
import type { Report, Table, Value, ValueKind } from './report';
import { A4 } from '../workbook/bulk-sheet';

const MONEY: Readonly<Record<Grouping, string>> = {
  western: '#,##0.00',
  indian: '[>=10000000]##\\,##\\,##\\,##0.00;[>=100000]##\\,##\\,##0.00;##,##0.00',
};
const FORMATS: Readonly<Record<Exclude<ValueKind, 'money' | 'text'>, string>> = {
  count: '#,##0',
  day: 'dd/mm/yyyy',
  instant: 'dd/mm/yyyy hh:mm',
  hours: '#,##0.0',
  days: '#,##0.0',
  share: '0.0%',
};
/** Maximum length of a text. A cell may have 32,767 characters, but texts longer than this are of no use. */
const MAX_TEXT = 2_000;
const MAX_WIDTH = 60;
/** Row height in points. */
const TWO_LINES = 30;
const ON_PAPER = { paperSize: A4, orientation: 'landscape', fitToPage: true, fitToHeight: 0 } as const;

/**
 * The report as a workbook: all figures, and a sheet per group with its trend and tables, as real numbers and dates
 * (Asia/Kolkata).
 * @returns the bytes of an .xlsx
 */
export async function writeReportWorkbook(report: Report, { grouping }: { grouping: Grouping }): Promise<Buffer> {
  const workbook = new Workbook();
  workbook.created = report.madeAt;
  const sheets = new Sheets(workbook, grouping);
  sheets.overview(report);
  for (const group of report.groups) sheets.group(group);
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

class Sheets {
  private tables = 0;

  constructor(
    private readonly workbook: Workbook,
    private readonly grouping: Grouping,
  ) {}

  overview(report: Report): void {
    const sheet = this.sheet('Overview');
    const made = formatValue(report.madeAt, 'instant', this.grouping);
    this.heading(sheet, report.title, [`Mode ${report.mode}, made ${made} (Asia/Kolkata)`, ...report.notes]);
    const figures = report.groups.flatMap(({ title, figures: own }) => own.map((figure) => ({ ...figure, title })));
    const all = table('figures', 'Figures', figures, ALL_ROWS, [
      ['Group', 'text', ({ title }) => title],
      ['Figure', 'text', ({ label }) => label],
      ['Value', 'count', ({ value }) => value],
      ['Currency or unit', 'text', ({ currency, kind }) => currency ?? (kind === 'count' ? '' : kind)],
      ['Look', 'text', ({ alarm }) => (alarm ? 'yes' : '')],
    ]);
    this.table(sheet, all, figures);
  }

  group(group: Group): void {
    const sheet = this.sheet(group.title);
    this.heading(sheet, group.title, [group.definition]);
    const own = table(`${group.id}_figures`, 'Figures', group.figures, ALL_ROWS, [
      ['Figure', 'text', ({ label }) => label],
      ['Value', 'count', ({ value }) => value],
      ['Currency', 'text', ({ currency }) => currency ?? ''],
      ['Look', 'text', ({ alarm }) => (alarm ? 'yes' : '')],
    ]);
    this.table(sheet, own, group.figures);
    for (const each of group.tables) this.table(sheet, each);
    const { trend } = group;
    if (!trend || trend.series.length === 0) return;
    const kind = trend.series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)))
      ? 'count'
      : 'hours';
    const days = table(`${group.id}_trend`, `${trend.title} (${trend.unit})`, trend.categories, ALL_ROWS, [
      ['Day', 'day', (day) => day],
      ...trend.series.map(({ label, values }) => [label, kind, (_: string, at: number) => values[at] ?? null] as const),
    ]);
    this.table(sheet, days);
  }

  private sheet(title: string): Worksheet {
    // A sheet name has at most 31 characters, and none of these.
    const name = title.replace(/[[\]:*?/\\]/gu, ' ').slice(0, 31);
    return this.workbook.addWorksheet(name, { pageSetup: ON_PAPER });
  }

  private heading(sheet: Worksheet, title: string, lines: readonly string[]): void {
    sheet.addRow([title]).font = { bold: true, size: 14 };
    // A longer line would shrink the sheet's printed pages.
    for (const line of lines.flatMap((text) => text.match(/.{1,100}(?:\s|$)/gu) ?? [])) sheet.addRow([line.trim()]);
  }

  /** @param figures the figure of each row, whose kind is used in the column Value */
  private table(sheet: Worksheet, { title, columns, rows, cut }: Table, figures?: readonly Figure[]): void {
    const top = sheet.rowCount + 2;
    sheet.getCell(top, 1).value = cut ? `${title} (the first ${rows.length}; there are more)` : title;
    sheet.getCell(top, 1).font = { bold: true };
    if (rows.length === 0) {
      sheet.getCell(top + 1, 1).value = 'none';
      return;
    }
    const kindAt = (row: number, column: number): ValueKind =>
      (columns[column]?.label === 'Value' && figures?.[row]?.kind) || (columns[column]?.kind ?? 'text');
    this.tables += 1;
    sheet.addTable({
      name: `T${this.tables}`,
      ref: `A${top + 1}`,
      style: { theme: 'TableStyleLight1', showRowStripes: true },
      columns: columns.map(({ label }) => ({ name: label, filterButton: true })),
      rows: rows.map((row, at) => row.map((value, column) => cellOf(value, kindAt(at, column)))),
    });
    rows.forEach((row, at) =>
      row.forEach((value, column) => {
        const kind = kindAt(at, column);
        if (value === null || kind === 'text') return;
        const cell = sheet.getCell(top + 2 + at, column + 1);
        cell.numFmt = this.formatOf(kind);
        cell.alignment = alignmentOf(kind);
      }),
    );
    // Excel raises a row that wraps; other programs do not.
    if (columns.some(({ label }) => headerWidth(label) < label.length)) sheet.getRow(top + 1).height = TWO_LINES;
    columns.forEach(({ label, kind }, column) => {
      const header = sheet.getCell(top + 1, column + 1);
      header.font = { bold: true };
      header.alignment = { ...alignmentOf(kind), vertical: 'top', wrapText: true };
      const shown = rows.slice(0, 200).map((row, at) => this.lengthOf(row[column] ?? null, kindAt(at, column)));
      const target = sheet.getColumn(column + 1);
      target.width = Math.min(MAX_WIDTH, Math.max(target.width ?? 0, headerWidth(label), ...shown) + 2);
    });
  }

  /** Length of the displayed value: a number wider than its column is shown as a row of #. */
  private lengthOf(value: Value | Linked, kind: ValueKind): number {
    if (value !== null && typeof value === 'object' && 'text' in value) return value.text.length;
    return formatValue(value, kind, this.grouping).length;
  }

  private formatOf(kind: Exclude<ValueKind, 'text'>): string {
    return kind === 'money' ? MONEY[this.grouping] : FORMATS[kind];
  }
}

/** Texts become text cells, which are never run as formulas. */
function cellOf(value: Value | Linked, kind: ValueKind): CellValue {
  if (value === null) return null;
  if (value instanceof Date) return new Date(value.getTime() + KOLKATA_OFFSET_MS);
  if (typeof value === 'object') return { text: textOf(value.text), hyperlink: value.href };
  if (typeof value === 'number') return value;
  if (kind === 'day') return new Date(`${value}T00:00:00Z`);
  return kind === 'money' ? Number(value) : textOf(value);
}

const textOf = (text: string): string => formatValue(text, 'text', 'western').slice(0, MAX_TEXT);

/** Numbers are right-aligned, with an indent before the next column; all else is left-aligned. */
const alignmentOf = (kind: ValueKind): Partial<Alignment> =>
  kind === 'text' || kind === 'day' || kind === 'instant' ? { horizontal: 'left' } : { horizontal: 'right', indent: 1 };

/** Width of a header on two lines, with room for the filter button. Wider headers would shrink the printed page. */
function headerWidth(label: string): number {
  const longestWord = Math.max(...label.split(' ').map((word) => word.length));
  return Math.max(longestWord, Math.ceil(label.length / 2)) + 4;
}
