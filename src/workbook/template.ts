import { type CellValue, type Worksheet, Workbook } from 'exceljs';
import { BULK_COLUMNS, columnOfHeader } from '../domain/rules/columns';
import { type HeldIrm, recordsOf } from '../domain/exporter/balance-sums';
import { WORKBOOK_LIMITS } from './ooxml/limits';
import { A4, finishBulkSheet, HEADER_ALIGNMENT, widthOf } from './bulk-sheet';
import { type CellContent, cellContent } from './sheet/cell-content';
import { shown } from './sheet/cell-value';
import { openWorkbook } from './sheet/open-workbook';
import { textsOf } from './sheet/filled-rows';
import { BULK_SHEET, midnight } from './write';
import { filingDateFromAnything } from '../domain/dates';
import { irmIdentity } from '../domain/identity';
import { compareAmounts } from '../domain/money';
import { printable } from '../domain/text';
import { groupBy } from '../domain/values';
import { FREE_HEADER, REMITTER_HEADER } from './sheet/headers';

/**
 * The service's template (spec: "GET /irm/bulk-template") with drop-downs, formats, help, a frozen header, and what is
 * known of its IRMs. Only the values of its first sheet are kept, so that it can be uploaded.
 * @throws WorkbookRefused if it is not a workbook
 */
export async function decorateTemplate(source: string | Buffer, known: KnownIrms = {}): Promise<Buffer> {
  const { first } = await openWorkbook(source, WORKBOOK_LIMITS);
  const workbook = new Workbook();
  const target = workbook.addWorksheet(BULK_SHEET);
  for (const { cells } of first.sheet.rows()) {
    const values: CellValue[] = [];
    for (const cell of cells) values[cell.column] = valueOf(cellContent(cell, first.context));
    // Without an index 0 they begin at 1, also where the first column is blank.
    target.addRow(values);
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

/** A template's labels: the filled cells of row 1. @throws WorkbookRefused if it is not a workbook */
export async function readTemplateLabels(source: string | Buffer): Promise<string[]> {
  const { first } = await openWorkbook(source, WORKBOOK_LIMITS);
  const row = first.sheet.rows().next();
  return row.done || row.value.number !== 1 ? [] : Object.values(textsOf(row.value, first.context));
}

/** The Branch Sl No of exporters with one office. */
const HEAD_OFFICE = 0;

/** Builds the template from the ledger: a row per IRM, Y/N columns preset to N, blank invoices. @returns its bytes */
export async function buildTemplate(irms: readonly HeldIrm[], known: KnownIrms = {}): Promise<Buffer> {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet(BULK_SHEET);
  sheet.columns = BULK_COLUMNS.map(({ header, field }) => ({ header, key: field }));
  irms.forEach((irm, index) => {
    const date = irm.issueDate ?? irm.remittanceDate;
    sheet.addRow({
      serialNo: index + 1,
      branchSlNo: HEAD_OFFICE,
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

/** What the ledger knows of IRMs beyond the template. Dates are DDMMYYYY. */
export interface KnownIrms {
  irms?: readonly {
    irmNumber: string;
    irmAdCode: string;
    irmIssueDate: string;
    remittanceDate: string | null;
    remitterName: string | null;
    /** Exact decimal text; null if it is not known. */
    free: string | null;
  }[];
  /** Also IRMs without a free balance. */
  all?: boolean;
}

/** Removes used-up IRMs, turns date texts into dates, and adds the remitter and free balance, which are not sent. */
function completeRows(sheet: Worksheet, { irms = [], all = false }: KnownIrms): void {
  const fields = new Map<string, number>();
  sheet.getRow(1).eachCell((cell, index) => {
    const column = columnOfHeader(cell.text);
    if (column) fields.set(column.field, index);
  });
  const irmsByIdentity = groupBy(
    irms.map((irm) => ({ ...irm, issueDate: irm.irmIssueDate })),
    irmIdentity,
  );
  const irmOfRow = (row: number) => {
    const cell = (field: string) => sheet.getCell(row, fields.get(field) ?? 1);
    const alike =
      irmsByIdentity.get(irmIdentity({ irmNumber: cell('irmNumber').text, irmAdCode: cell('irmAdCode').text })) ?? [];
    const { value: date, text } = cell('irmDt');
    const dated = alike.length > 1 ? recordsOf(date instanceof Date ? date.toISOString() : text, alike) : alike;
    // The balance of another IRM would be worse than none.
    return dated.length > 1 ? undefined : dated[0];
  };
  if (!all) leaveOutExhausted(sheet, irmOfRow);
  const firstAdded = sheet.columnCount + 1;
  for (let row = 2; row <= sheet.rowCount; row += 1) {
    const date = sheet.getCell(row, fields.get('irmDt') ?? 1);
    const read = typeof date.value === 'string' ? filingDateFromAnything(date.value) : null;
    if (read) date.value = midnight(read);
    const branch = fields.get('branchSlNo');
    if (branch !== undefined) sheet.getCell(row, branch).value ??= HEAD_OFFICE;
    const irm = irmOfRow(row);
    if (!irm) continue;
    sheet.getCell(row, firstAdded).value = irm.remitterName === null ? null : printable(irm.remitterName);
    sheet.getCell(row, firstAdded + 1).value = irm.free === null ? null : Number(irm.free);
  }
  if (irmsByIdentity.size === 0) return;
  for (const [index, header] of [REMITTER_HEADER, FREE_HEADER].entries()) {
    const cell = sheet.getCell(1, firstAdded + index);
    cell.value = header;
    cell.style = { font: { bold: true, italic: true }, alignment: HEADER_ALIGNMENT };
    sheet.getColumn(firstAdded + index).width = widthOf(sheet, firstAdded + index, header);
  }
  sheet.getColumn(firstAdded + 1).numFmt = '#,##0.00';
}

function leaveOutExhausted(sheet: Worksheet, irmOfRow: (row: number) => { free: string | null } | undefined): void {
  for (let row = sheet.rowCount; row >= 2; row -= 1) {
    const free = irmOfRow(row)?.free;
    if (free != null && compareAmounts(free, 0) <= 0) sheet.spliceRows(row, 1);
  }
}

const HOW_TO = [
  'One row files one remittance against one document. Rows whose invoice columns stay empty are left out.',
  'A remittance that pays for several documents: copy its row, one per document, and give every row another Serial No.',
  'Upload Type: 101 Direct Export, 102 Softex, 103 Service Non IT, 104 Deemed. The same in every row.',
  'Branch Sl No: which branch on your IEC made the export; 0, as preset, is the head office.',
  'SB/Invoice number, date, currency and value: as on the shipping bill or the invoice.',
  'Mapped IRM Amount FCC: how much of the remittance is for this document, without bank charges abroad.',
  'Leave the remittance columns (IFSC, AD code, number, date, currency, purpose, amount) as they are.',
  'Is GST Avail Y needs the GST invoice number and date; N needs both empty.',
  'Dates are real dates or DD/MM/YYYY. Amounts are digits without separators or currency signs.',
  'The last two columns are for you, and are not sent. You may add columns of your own to the right.',
  'Then: ebrc check FILE --exporter E -o checked.xlsx, and ebrc file FILE --exporter E --declaration Y --wait.',
];

/** A second sheet with help for whoever fills in the first one. */
function addHelpSheet(workbook: Workbook): void {
  const sheet = workbook.addWorksheet('How to fill this in');
  sheet.getColumn(1).width = 110;
  sheet.getColumn(1).alignment = { wrapText: true, vertical: 'top' };
  sheet.pageSetup = { paperSize: A4, orientation: 'landscape', fitToPage: true, fitToHeight: 0 };
  sheet.addRows(HOW_TO.map((line, index) => [`${index + 1}. ${line}`]));
}
