import { type Cell, type CellValue, type DataValidation, type Style, type Worksheet, Workbook } from 'exceljs';
import { type BulkColumn, BULK_COLUMNS, columnOfHeader, UPLOAD_TYPES } from '../domain/rules/columns';
import type { FieldKind } from '../domain/filing/mapping';
import type { HeldIrm } from '../domain/rules/preflight';
import { WORKBOOK_LIMITS } from './ooxml/limits';
import { MAX_ROWS_PER_SUBMISSION } from '../domain/service/limits';
import { columnLetter } from './sheet/addresses';
import { type CellContent, cellContent } from './sheet/cell-content';
import { shown } from './sheet/cell-value';
import { openWorkbook } from './sheet/open-workbook';
import { textsOf } from './sheet/filled-rows';
import { addHelpSheet, completeRows, midnight, widthOf, type KnownIrms } from './template-rows';
import { BULK_SHEET } from './write';

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
