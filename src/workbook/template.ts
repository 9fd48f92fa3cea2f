import type { Cell, Row, Style, Worksheet } from 'exceljs';
import { ValueType, Workbook } from 'exceljs';
import type { BulkColumn } from '../domain/columns';
import { BULK_COLUMNS } from '../domain/columns';
import { isoFromFilingDate } from '../domain/dates';
import type { FieldKind } from '../domain/mapping';
import type { HeldIrm } from '../domain/preflight';
import { UPLOAD_TYPES } from '../domain/upload-type';
import { cleanText } from './sheet/cell-content';
import type { FullWorkbook } from './ooxml/full-workbook';
import { loadFullWorkbook } from './ooxml/full-workbook';
import { readHeaders } from './sheet/headers';
import { ROWS_PER_UPLOAD, WORKBOOK_LIMITS } from './ooxml/limits';
import { openPackage } from './ooxml/package';
import { BULK_SHEET } from './write';

/** Formats of whole columns. Text first of all: it keeps leading zeros and stops `1-2` from turning into a date. */
const FORMATS: Readonly<Record<FieldKind, string>> = {
  text: '@',
  yesNo: '@',
  date: 'dd/mm/yyyy',
  amount: '#,##0.00',
  integer: '0',
};

const HEADER_FILLS = { mandatory: 'FFDDEBF7', conditional: 'FFFFF2CC', optional: 'FFEDEDED' } as const;
const LAST_ROW = ROWS_PER_UPLOAD + 1;

/**
 * Makes the service's template (spec: "GET /irm/bulk-template") pleasant to fill in: drop-downs for Y/N and upload type,
 * date, number and text formats, a frozen header, help on every header. Values stay as they came, so that it can be
 * uploaded back.
 *
 * @returns the bytes of the workbook
 * @throws WorkbookRefused when the source is no workbook
 */
export async function decorateTemplate(source: string | Buffer): Promise<Buffer> {
  const full = await loadFullWorkbook(await openPackage(source, WORKBOOK_LIMITS), WORKBOOK_LIMITS);
  const sheet = full.workbook.worksheets[0];
  if (sheet) decorate(sheet, full);
  return full.save();
}

/**
 * The same template from what the ledger holds, for when the service's cannot be had: one row per IRM with its serial
 * number and IRM columns, the three Y/N columns preset to N, the invoice columns blank.
 *
 * @returns the bytes of the workbook
 */
export async function buildTemplate(irms: readonly HeldIrm[]): Promise<Buffer> {
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
      irmDt: date === null ? null : new Date(`${isoFromFilingDate(date)}T00:00:00Z`),
      irmFCC: irm.currency,
      irmPurposeCode: irm.purpose,
      irmRemitAmtFCC: Number(irm.amount),
      isVostro: 'N',
      isThirdPartyExport: 'N',
      isGstAvail: 'N',
    });
  });
  return decorateTemplate(Buffer.from(await workbook.xlsx.writeBuffer()));
}

function decorate(sheet: Worksheet, full: FullWorkbook): void {
  const { columns } = readHeaders(headerTexts(sheet.getRow(1)));
  const validations: string[] = [];
  for (const { column, index, letter } of columns.values()) {
    formatColumn(sheet, index, column);
    const header = sheet.getCell(1, index);
    header.style = headerStyle(column);
    header.note = `${column.help}\n${NEEDS[column.need]}`;
    validations.push(...validation(column, `${letter}2:${letter}${LAST_ROW}`));
  }
  sheet.views = [{ state: 'frozen', xSplit: 1, ySplit: 1 }];
  full.validations =
    validations.length === 0
      ? ''
      : `<dataValidations count="${validations.length}">${validations.join('')}</dataValidations>`;
}

/** The texts of a row by column number; exceljs lends the text of a merged range to each of its cells. */
function headerTexts(row: Row): string[] {
  const texts: string[] = [];
  row.eachCell((cell, index) => {
    const text = cell.type === ValueType.Merge ? '' : cleanText(String(cell.text ?? ''));
    if (text !== '') texts[index] = text;
  });
  return texts;
}

const NEEDS: Readonly<Record<BulkColumn['need'], string>> = {
  mandatory: 'Needed in every row.',
  conditional: 'Needed where Is GST Avail is Y, empty where it is N.',
  optional: 'May stay empty.',
};

function formatColumn(sheet: Worksheet, index: number, { kind, header }: BulkColumn): void {
  const column = sheet.getColumn(index);
  const numFmt = FORMATS[kind];
  column.width = Math.max(header.length + 2, 12);
  // New objects: exceljs shares style objects between cells, so a change in place would reach other columns.
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

/** The drop-down or number rule of a column as XML; dates get none, because it would refuse dates written as text. */
function validation({ field, kind, help }: BulkColumn, range: string): string[] {
  const list = (values: string, name: string) =>
    `<dataValidation type="list" allowBlank="1" showInputMessage="1" showErrorMessage="1" errorTitle="${name}" error="Choose one of ${values}." promptTitle="${name}" prompt="${escaped(help)}" sqref="${range}"><formula1>"${values}"</formula1></dataValidation>`;
  if (kind === 'yesNo') return [list('Y,N', 'Y or N')];
  if (field === 'uploadType') return [list(Object.keys(UPLOAD_TYPES).join(','), 'Upload type')];
  if (kind !== 'amount') return [];
  return [
    `<dataValidation type="decimal" operator="greaterThanOrEqual" allowBlank="1" showErrorMessage="1" errorTitle="Amount" error="Write digits, without separators or currency signs." sqref="${range}"><formula1>0</formula1></dataValidation>`,
  ];
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
}
