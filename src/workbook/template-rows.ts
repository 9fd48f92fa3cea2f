/** What is known of the IRMs of a template, in columns of ours, and how a template is filled in. */
import type { Workbook, Worksheet } from 'exceljs';
import { filingDateFromAnything, isoFromFilingDate, type FilingDate } from '../domain/dates';
import { irmIdentity } from '../domain/identity';
import { compareAmounts } from '../domain/money';
import { printable } from '../domain/text';
import { columnOfHeader } from '../domain/rules/columns';
import { FREE_HEADER, REMITTER_HEADER } from './sheet/headers';

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

/** exceljs takes a date cell as midnight in UTC. */
export function midnight(date: FilingDate): Date {
  return new Date(`${isoFromFilingDate(date)}T00:00:00Z`);
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
