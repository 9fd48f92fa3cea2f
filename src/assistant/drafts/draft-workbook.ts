import { type Cell, type Worksheet, Workbook } from 'exceljs';
import { isoFromFilingDate } from '../../domain/dates';
import { IRM_FIELDS, irmCells, type CellMark, type DraftCell, type DraftRow, type OpenIrm } from './cells';
import { MAPPING_FIELDS, type MappingField } from '../../domain/filing/mapping';
import { groupBy } from '../../domain/values';
import { BULK_COLUMNS, type ColumnField, headerOf, isExtraField } from '../../domain/rules/columns';
import type { Finding } from '../../domain/rules/finding';
import { cutText, harmless } from '../../domain/text';
import { finishBulkSheet } from '../../workbook/bulk-sheet';
import type { NewCell } from '../../workbook/read';
import { BULK_SHEET, midnight } from '../../workbook/write';
import type { LedgerDependencies } from '../../starter/dependencies';
import { checkFile, type CheckOutcome } from '../../starter/filings/check';

const FILLS: Readonly<Record<CellMark, string>> = { gap: 'FFF8CBAD', guess: 'FFFFEB9C', default: 'FFE2EFDA' };
const LEGEND: readonly (readonly [CellMark | null, string])[] = [
  ['gap', 'To be filled in: the value is not known. The note says what is missing, or what the check found.'],
  ['guess', 'A guess: check it. The note gives its basis; Why is at the end of the row.'],
  ['default', 'The usual value. No document states it; change it if it is wrong.'],
  [null, 'No colour: read from a document or from the IRM, which the note names.'],
];
const NOTE_BYTES = 1_000;
const IRM_SHEET = 'IRMs';

/**
 * Checks drafted rows as `ebrc check` does, and writes them into a workbook with the findings.
 * @param of the exporter's id or e-mail, and a name for the checked sheet
 * @param draft its rows, and the text at the top of the legend
 * @returns the bytes, whether the check passed, and its errors
 */
export async function checkedDraft(
  deps: LedgerDependencies,
  of: { exporter: string; name: string },
  draft: { rows: readonly DraftRow[]; title: string },
): Promise<Pick<CheckOutcome, 'ok' | 'errors'> & { workbook: Buffer }> {
  const source = { name: of.name, cells: draftValues(draft.rows) };
  const { ok, errors, warnings } = await checkFile(deps, { source, exporter: of.exporter });
  return { ok, errors, workbook: await writeDraftWorkbook({ ...draft, findings: [...errors, ...warnings] }) };
}

/**
 * Writes rows in the form of the upload template. Notes give each cell's source; gaps and guesses are coloured;
 * choosing another IRM from a list changes the row's other IRM cells.
 */
async function writeDraftWorkbook({
  rows,
  title,
  findings,
}: {
  rows: readonly DraftRow[];
  title: string;
  findings: readonly Finding[];
}): Promise<Buffer> {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet(BULK_SHEET);
  for (const cells of draftValues(rows)) sheet.addRow(cells);
  const irms = writeIrms(workbook, rows);
  const findingsByCell = groupBy(findings, ({ row, field }) => `${row} ${field}`);
  rows.forEach((row, index) => {
    const number = index + 2;
    BULK_COLUMNS.forEach(({ field }, at) => {
      const draft = row.cells[field as MappingField];
      const found = (findingsByCell.get(`${number} ${field}`) ?? []).map(({ message }) => message);
      if (draft) explain(sheet.getCell(number, at + 1), draft, found);
    });
    if (row.alternatives.length > 0) addChoice(sheet, number, row, irms);
  });
  writeLegend(workbook, title, findings);
  return finishBulkSheet(workbook, sheet);
}

/** The sheet's values, headers first. One further column is for people and is not sent. */
function draftValues(rows: readonly DraftRow[]): NewCell[][] {
  const valueOf = ({ cells }: DraftRow, field: ColumnField) =>
    isExtraField(field) ? (field === 'isThirdPartyExport' ? 'N' : null) : cellValue(field, cells[field]?.value ?? null);
  return [
    [...BULK_COLUMNS.map(({ header }) => header), 'Why (not sent)'],
    ...rows.map((row) => [...BULK_COLUMNS.map(({ field }) => valueOf(row, field)), harmless(row.why)]),
  ];
}

/** Sets a cell's note and colour. */
function explain(cell: Cell, { note, mark }: DraftCell, found: readonly string[]): void {
  cell.note = cutText([note, ...found].join('\n'), NOTE_BYTES);
  const fill = found.length > 0 && mark !== 'gap' ? (mark ?? 'guess') : mark;
  if (fill) cell.fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: FILLS[fill] } };
}

const isDate = (field: MappingField): boolean => MAPPING_FIELDS[field] === 'date';

function cellValue(field: MappingField, value: string | number | null): NewCell {
  return typeof value === 'string' && isDate(field) ? midnight(value) : value;
}

/** Writes the sheet of alternative IRMs, by number. @returns the numbers that it has, and its last row */
function writeIrms(workbook: Workbook, rows: readonly DraftRow[]): { known: ReadonlySet<string>; last: number } {
  const offered = new Map<string, OpenIrm>();
  const ambiguous = new Set<string>();
  for (const { alternatives } of rows) {
    for (const irm of alternatives) {
      const before = offered.get(irm.irmNumber);
      if (before && (before.irmAdCode !== irm.irmAdCode || before.irmDt !== irm.irmDt)) ambiguous.add(irm.irmNumber);
      offered.set(irm.irmNumber, irm);
    }
  }
  const sheet = workbook.addWorksheet(IRM_SHEET);
  sheet.columns = IRM_FIELDS.map((field) => ({ header: field, width: 18 }));
  const known = new Set<string>();
  for (const irm of offered.values()) {
    if (ambiguous.has(irm.irmNumber)) continue;
    known.add(irm.irmNumber);
    const cells = irmCells(irm);
    sheet.addRow(IRM_FIELDS.map((field) => cellValue(field, cells[field]?.value ?? null)));
  }
  sheet.getColumn(4).numFmt = 'dd/mm/yyyy';
  return { known, last: known.size + 1 };
}

const LIST_LENGTH = 250;

/** Adds a drop-down of the IRMs that fit. The row's other IRM cells are formulas that look up the chosen one. */
function addChoice(
  sheet: Worksheet,
  row: number,
  { cells, alternatives }: DraftRow,
  irms: ReturnType<typeof writeIrms>,
) {
  const chosen = cells.irmNumber?.value;
  const numbers = alternatives
    .map(({ irmNumber }) => irmNumber)
    .filter((number) => irms.known.has(number) && !number.includes(','));
  if (typeof chosen !== 'string' || chosen.includes(',')) return;
  let list = chosen;
  for (const number of numbers) if (`${list},${number}`.length <= LIST_LENGTH) list += `,${number}`;
  const letter = (column: number) => sheet.getColumn(column).letter;
  const column = (field: MappingField) => BULK_COLUMNS.findIndex((bulkColumn) => bulkColumn.field === field) + 1;
  const key = `$${letter(column('irmNumber'))}${row}`;
  sheet.getCell(row, column('irmNumber')).dataValidation = {
    type: 'list',
    allowBlank: true,
    formulae: [`"${list.replaceAll('"', '""')}"`],
    showInputMessage: true,
    promptTitle: 'Other remittances',
    prompt: 'These cover it too. The other cells of the IRM follow your choice.',
  };
  IRM_FIELDS.slice(1).forEach((field, at) => {
    const cell = cells[field];
    if (!cell || cell.value === null) return;
    const from = letter(at + 2);
    const lookup = `INDEX(${IRM_SHEET}!$${from}$2:$${from}$${irms.last},MATCH(${key},${IRM_SHEET}!$A$2:$A$${irms.last},0))`;
    const own = literal(field, cell.value);
    const target = sheet.getCell(row, column(field));
    target.value = {
      formula: `IF(${key}=${literal('irmNumber', chosen)},${own},${lookup})`,
      result: cellValue(field, cell.value) as string,
    };
  });
}

/** A value as a literal in a formula. */
function literal(field: MappingField, value: string | number): string {
  if (typeof value === 'number') return String(value);
  if (!isDate(field)) return `"${value.replaceAll('"', '""')}"`;
  const [year, month, day] = isoFromFilingDate(value).split('-').map(Number);
  return `DATE(${year},${month},${day})`;
}

function writeLegend(workbook: Workbook, title: string, findings: readonly Finding[]): void {
  const sheet = workbook.addWorksheet('Legend');
  sheet.getColumn(1).width = 12;
  sheet.getColumn(2).width = 110;
  sheet.getCell(1, 1).value = harmless(title);
  sheet.getCell(1, 1).font = { bold: true, size: 14 };
  LEGEND.forEach(([mark, text], index) => {
    if (mark) sheet.getCell(index + 3, 1).fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: FILLS[mark] } };
    sheet.getCell(index + 3, 2).value = text;
  });
  const first = LEGEND.length + 4;
  if (findings.length > 0) sheet.getCell(first, 2).value = 'Findings of `ebrc check`:';
  findings.slice(0, 500).forEach(({ row, field, severity, message }, index) => {
    sheet.getCell(first + 1 + index, 1).value = row === null ? severity : `${severity}, row ${row}`;
    sheet.getCell(first + 1 + index, 2).value = harmless([headerOf(field), message].filter(Boolean).join(': '));
  });
}
