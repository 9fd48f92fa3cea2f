import { type Cell, type CellValue, type DataValidation, type Style, type Worksheet, Workbook } from 'exceljs';
import { type BulkColumn, BULK_COLUMNS, columnOfHeader, UPLOAD_TYPES } from '../domain/rules/columns';
import type { FieldKind } from '../domain/filing/mapping';
import type { HeldIrm } from '../domain/exporter/balance-sums';
import { WORKBOOK_LIMITS } from './ooxml/limits';
import { MAX_ROWS_PER_SUBMISSION } from '../domain/service/limits';
import { columnLetter } from './sheet/addresses';
import { type CellContent, cellContent } from './sheet/cell-content';
import { shown } from './sheet/cell-value';
import { openWorkbook } from './sheet/open-workbook';
import { textsOf } from './sheet/filled-rows';
import { BULK_SHEET, midnight } from './write';
import { filingDateFromAnything } from '../domain/dates';
import { irmIdentity } from '../domain/identity';
import { compareAmounts } from '../domain/money';
import { printable } from '../domain/text';
import { FREE_HEADER, REMITTER_HEADER } from './sheet/headers';

/** Formats of whole columns. Most are text, which keeps leading zeros and prevents `1-2` from becoming a date. */
const FORMATS: Readonly<Record<FieldKind, string>> = {
  text: '@',
  yesNo: '@',
  date: 'dd/mm/yyyy',
  amount: '#,##0.00',
  integer: '0',
};

const HEADER_FILLS = { mandatory: 'FFDDEBF7', conditional: 'FFFFF2CC', optional: 'FFEDEDED' } as const;
const LAST_ROW = MAX_ROWS_PER_SUBMISSION + 1;

/**
 * Adds to the service's template (spec: "GET /irm/bulk-template") what makes it easy to fill in: drop-downs for Y/N and
 * upload type, date, number and text formats, a frozen header, help on every header, what is known of its IRMs. The
 * values of its first worksheet are kept, dates as real ones, so that it can be uploaded back; nothing else of it is.
 *
 * @returns the bytes of the workbook
 * @throws WorkbookRefused if the source is not a workbook
 */
export async function decorateTemplate(source: string | Buffer, known: KnownIrms = {}): Promise<Buffer> {
  const { first } = await openWorkbook(source, WORKBOOK_LIMITS);
  const workbook = new Workbook();
  const target = workbook.addWorksheet(BULK_SHEET);
  for (const { cells } of first.sheet.rows()) {
    const values: CellValue[] = [];
    for (const cell of cells) values[cell.column] = valueOf(cellContent(cell, first.context));
    target.addRow(values.slice(1));
  }
  return finishTemplate(workbook, target, known);
}

function valueOf(content: CellContent): CellValue {
  switch (content.kind) {
    case 'text':
      return content.text;
    case 'number':
      return content.zeros > 0 ? shown(content) : content.value;
    case 'date':
      return midnight(content.date);
    case 'boolean':
      return content.shown === 'TRUE';
    default:
      return null;
  }
}

/**
 * The labels of a template in their order: the filled cells of row 1.
 * @throws WorkbookRefused if the source is not a workbook
 */
export async function readTemplateLabels(source: string | Buffer): Promise<string[]> {
  const { first } = await openWorkbook(source, WORKBOOK_LIMITS);
  const row = first.sheet.rows().next();
  return row.done || row.value.number !== 1 ? [] : Object.values(textsOf(row.value, first.context));
}

/**
 * The same template from the ledger's data, if the service's is not available: one row per IRM with its serial number
 * and IRM columns, the three Y/N columns preset to N, the invoice columns blank.
 *
 * @returns the bytes of the workbook
 */
export async function buildTemplate(irms: readonly HeldIrm[], known: KnownIrms = {}): Promise<Buffer> {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet(BULK_SHEET);
  sheet.columns = BULK_COLUMNS.map(({ header, field }) => ({ header, key: field }));
  irms.forEach((irm, index) => {
    const date = irm.issueDate ?? irm.remittanceDate;
    sheet.addRow({
      serialNo: index + 1,
      irmIfscCode: irm.irmIfscCode,
      irmAdCode: irm.irmAdCode,
      irmNumber: irm.irmNumber,
      irmDt: date === null ? null : midnight(date),
      irmFCC: irm.currency,
      irmPurposeCode: irm.purpose,
      irmRemitAmtFCC: irm.amount === null ? null : Number(irm.amount),
      isVostro: 'N',
      isThirdPartyExport: 'N',
      isGstAvail: 'N',
    });
  });
  return finishTemplate(workbook, sheet, known);
}

function finishTemplate(workbook: Workbook, sheet: Worksheet, known: KnownIrms): Promise<Buffer> {
  completeRows(sheet, known);
  addHelpSheet(workbook);
  return finishBulkSheet(workbook, sheet);
}

/**
 * Formats, drop-downs, help on the headers and a frozen header row for a sheet of bulk columns. @returns the bytes of
 * the workbook
 */
export async function finishBulkSheet(workbook: Workbook, sheet: Worksheet): Promise<Buffer> {
  const texts: string[] = [];
  sheet.getRow(1).eachCell((cell, index) => {
    texts[index] = cell.text;
  });
  for (const [index, text] of texts.entries()) {
    const column = columnOfHeader(text ?? '');
    if (!column) continue;
    const letter = columnLetter(index);
    formatColumn(sheet, index, column);
    const header = sheet.getCell(1, index);
    header.style = headerStyle(column);
    header.note = `${column.help}\n${NEEDS[column.need]}`;
    const rule = validation(column);
    if (rule) validationsOf(sheet).add(`${letter}2:${letter}${LAST_ROW}`, rule);
  }
  sheet.views = [{ state: 'frozen', xSplit: 1, ySplit: 1 }];
  sheet.pageSetup = { orientation: 'landscape', fitToPage: true, fitToWidth: 1, fitToHeight: 0, printTitlesRow: '1:1' };
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

/** Rules for ranges: the types of exceljs only have those of single cells, which would need one object per cell. */
function validationsOf(sheet: Worksheet): { add(range: string, rule: DataValidation): void } {
  return (sheet as unknown as { dataValidations: { add(range: string, rule: DataValidation): void } }).dataValidations;
}

const NEEDS: Readonly<Record<BulkColumn['need'], string>> = {
  mandatory: 'Needed in every row.',
  conditional: 'Needed where Is GST Avail is Y, empty where it is N.',
  optional: 'May stay empty.',
};

function formatColumn(sheet: Worksheet, index: number, { kind, header }: BulkColumn): void {
  const column = sheet.getColumn(index);
  const numFmt = FORMATS[kind];
  column.width = widthOf(sheet, index, header);
  // New objects, because exceljs shares style objects between cells and a change in place would affect other columns.
  column.style = { ...column.style, numFmt };
  column.eachCell((cell: Cell) => {
    cell.style = { ...cell.style, numFmt };
  });
}

function headerStyle({ need }: BulkColumn): Partial<Style> {
  return {
    font: { bold: true },
    fill: { type: 'pattern', pattern: 'solid', fgColor: { argb: HEADER_FILLS[need] } },
    alignment: { vertical: 'middle', wrapText: true },
  };
}

/** The drop-down or number rule of a column; dates get none, because it would refuse dates written as text. */
function validation({ field, kind, help }: BulkColumn): DataValidation | undefined {
  const list = (values: string, name: string): DataValidation => ({
    type: 'list',
    allowBlank: true,
    formulae: [`"${values}"`],
    showErrorMessage: true,
    errorTitle: name,
    error: `Choose one of ${values}.`,
    showInputMessage: true,
    promptTitle: name,
    prompt: help,
  });
  if (kind === 'yesNo') return list('Y,N', 'Y or N');
  if (field === 'uploadType') return list(Object.keys(UPLOAD_TYPES).join(','), 'Upload type');
  if (kind !== 'amount') return undefined;
  return {
    type: 'decimal',
    operator: 'greaterThanOrEqual',
    formulae: [0],
    allowBlank: true,
    showErrorMessage: true,
    errorTitle: 'Amount',
    error: 'Write digits, without separators or currency signs.',
  };
}

/** What is known of the IRMs of a template, in columns of ours, and how a template is filled in. */

/** What the ledger knows of an IRM beside what the template says. */
interface KnownIrm {
  irmNumber: string;
  irmAdCode: string;
  remitterName: string | null;
  /** Exact decimal text; null where it is not known. */
  free: string | null;
}

export interface KnownIrms {
  irms?: readonly KnownIrm[];
  /** Also those of which nothing is free. */
  all?: boolean;
}

const WIDEST = 40;

/** How wide a column has to be for its header and its values. */
export function widthOf(sheet: Worksheet, index: number, header: string): number {
  let longest = header.length;
  sheet.getColumn(index).eachCell(({ value, text }) => {
    longest = Math.max(longest, value instanceof Date ? 10 : text.length);
  });
  return Math.min(Math.max(longest + 2, 12), WIDEST);
}

/**
 * Leaves out IRMs of which nothing is free, makes dates real ones, and adds the remitter and the free balance, in
 * columns that are not sent.
 */
export function completeRows(sheet: Worksheet, { irms = [], all = false }: KnownIrms): void {
  const fields = new Map<string, number>();
  sheet.getRow(1).eachCell((cell, index) => {
    const column = columnOfHeader(cell.text);
    if (column) fields.set(column.field, index);
  });
  const known = new Map(irms.map((irm) => [irmIdentity(irm), irm]));
  const ofRow = (row: number): KnownIrm | undefined => {
    const text = (field: string) => sheet.getCell(row, fields.get(field) ?? 1).text;
    return known.get(irmIdentity({ irmNumber: text('irmNumber'), irmAdCode: text('irmAdCode') }));
  };
  if (!all) leaveOutExhausted(sheet, ofRow);
  const own = sheet.columnCount + 1;
  for (let row = 2; row <= sheet.rowCount; row += 1) {
    const date = sheet.getCell(row, fields.get('irmDt') ?? 1);
    const read = typeof date.value === 'string' ? filingDateFromAnything(date.value) : null;
    if (read) date.value = midnight(read);
    const irm = ofRow(row);
    if (!irm) continue;
    sheet.getCell(row, own).value = irm.remitterName === null ? null : printable(irm.remitterName);
    sheet.getCell(row, own + 1).value = irm.free === null ? null : Number(irm.free);
  }
  if (known.size === 0) return;
  for (const [index, header] of [REMITTER_HEADER, FREE_HEADER].entries()) {
    const cell = sheet.getCell(1, own + index);
    cell.value = header;
    cell.font = { bold: true, italic: true };
    sheet.getColumn(own + index).width = widthOf(sheet, own + index, header);
  }
  sheet.getColumn(own + 1).numFmt = '#,##0.00';
}

function leaveOutExhausted(sheet: Worksheet, ofRow: (row: number) => KnownIrm | undefined): void {
  for (let row = sheet.rowCount; row >= 2; row -= 1) {
    const free = ofRow(row)?.free;
    if (free != null && compareAmounts(free, 0) <= 0) sheet.spliceRows(row, 1);
  }
}

const HOW_TO = [
  'One row files one remittance against one document. Rows whose invoice columns stay empty are left out.',
  'A remittance that pays for several documents: copy its row, one per document, and give every row another Serial No.',
  'Upload Type: 101 Direct Export, 102 Softex, 103 Service Non IT, 104 Deemed. The same in every row.',
  'SB/Invoice number, date, currency and value: as on the shipping bill or the invoice.',
  'Mapped IRM Amount FCC: how much of the remittance is for this document, without bank charges abroad.',
  'Leave the remittance columns (IFSC, AD code, number, date, currency, purpose, amount) as they are.',
  'Is GST Avail Y needs the GST invoice number and date; N needs both empty.',
  'Dates are real dates or DD/MM/YYYY. Amounts are digits without separators or currency signs.',
  'The last two columns are for you, and are not sent. You may add columns of your own to the right.',
  'Then: ebrc check FILE --exporter E -o checked.xlsx, and ebrc file FILE --exporter E --declaration Y --wait.',
];

/** A second sheet for the person who fills the first one in. */
export function addHelpSheet(workbook: Workbook): void {
  const sheet = workbook.addWorksheet('How to fill this in');
  sheet.getColumn(1).width = 110;
  sheet.getColumn(1).alignment = { wrapText: true, vertical: 'top' };
  sheet.addRows(HOW_TO.map((line, index) => [`${index + 1}. ${line}`]));
}
