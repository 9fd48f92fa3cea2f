import { Workbook, ValueType, type Cell, type CellValue, type Row, type Worksheet } from 'exceljs';
import { Decimal } from 'decimal.js';
import { dateOfUtcDay } from '../authority/calendar';
import { GST_FIELDS, ITEM_FIELDS } from '../endpoints/push-message';

/** One of the 37 columns of the bulk workbook (spec: "Bulk Excel row columns"), in the order of the template. */
export interface BulkColumn {
  /** JSON field name: what errors name. */
  field: string;
  header: string;
  kind: 'text' | 'whole' | 'amount' | 'date' | 'yesNo';
  /** Whether every row that is not blank needs a value. */
  mandatory: boolean;
}

/** The specification names 22; the others follow the authority's public names, with undocumented contents. */
const HEADERS = {
  serialNo: 'Serial No',
  uploadType: 'Upload Type',
  branchSlNo: 'Branch Sl No',
  irmIfscCode: 'IRM IFSC Code',
  irmAdCode: 'IRM AD Code',
  irmNumber: 'IRM Number',
  irmDt: 'IRM Date',
  irmFCC: 'IRM FCC',
  irmPurposeCode: 'IRM Purpose Code',
  irmRemitAmtFCC: 'IRM Remit Amt FCC',
  sbCumInvoiceNumber: 'SB Cum Invoice Number',
  sbCumInvoiceDate: 'SB Cum Invoice Date',
  portCode: 'Port Code',
  billNo: 'Bill No',
  sbCumInvoiceFCC: 'SB Cum Invoice FCC',
  sbCumInvoiceValueinFCC: 'SB Cum Invoice Value In FCC',
  mappedIRMAmountFCC: 'Mapped IRM Amount FCC',
  isVostro: 'Is Vostro',
  vostroType: 'Vostro Type',
  mappedORMAmountFCC: 'Mapped ORM Amount FCC',
  isThirdPartyExport: 'Is Third Party Export',
  commissionValDeduct: 'Commission Val Deduct',
  commissionValInfo: 'Commission Val Info',
  discountValDeduct: 'Discount Val Deduct',
  discountValInfo: 'Discount Val Info',
  insuranceValDeduct: 'Insurance Val Deduct',
  insuranceValInfo: 'Insurance Val Info',
  freightValDeduct: 'Freight Val Deduct',
  freightValInfo: 'Freight Val Info',
  otherDeductionDeduct: 'Other Deduction Deduct',
  otherdeductionsInfo: 'Other Deductions Info',
  sacCode1: 'SAC Code 1',
  sacCode2: 'SAC Code 2',
  serviceTypeModesValue: 'Service Type Modes Value',
  isGstAvail: 'Is GST Avail',
  gstinInvoiceNumber: 'GSTIN Invoice Number',
  gstinInvoiceDate: 'GSTIN Invoice Date',
};

const KINDS: Partial<Record<string, BulkColumn['kind']>> = {
  ...ITEM_FIELDS,
  ...GST_FIELDS,
  isThirdPartyExport: 'yesNo',
};

export const BULK_COLUMNS = Object.entries(HEADERS).map(([field, header]): BulkColumn => {
  return { field, header, kind: KINDS[field] ?? 'text', mandatory: field in ITEM_FIELDS };
});

export const SHEET_NAME = 'eBRC Bulk Upload';

/** Header names are matched without regard to case and punctuation. */
function normalHeader(header: string): string {
  return header.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** What a cell holds: text without blanks around it, or a real spreadsheet date as DDMMYYYY. Empty text is no value. */
export interface CellContent {
  text: string;
  isDate: boolean;
}

export interface SheetRow {
  /** Excel row; the header is row 1. */
  row: number;
  /** Content by JSON field name; columns that the sheet lacks are absent. */
  cells: ReadonlyMap<string, CellContent>;
}

/** The first worksheet: headers in row 1, blank rows left out. Null when the bytes are no .xlsx. */
export async function readSheet(file: Buffer): Promise<SheetRow[] | null> {
  const workbook = new Workbook();
  try {
    await workbook.xlsx.load(file as unknown as ArrayBuffer);
  } catch {
    return null;
  }
  const sheet = workbook.worksheets[0];
  return sheet ? readRows(sheet) : null;
}

function readRows(sheet: Worksheet): SheetRow[] {
  const columns = findColumns(sheet.getRow(1));
  const rows: SheetRow[] = [];
  sheet.eachRow((row, number) => {
    if (number === 1) return;
    let blank = true;
    row.eachCell((cell) => {
      if (read(cell).text !== '') blank = false;
    });
    if (blank) return;
    const cells = new Map([...columns].map(([field, column]) => [field, read(row.getCell(column))]));
    rows.push({ row: number, cells });
  });
  return rows;
}

/** Column number by JSON field name; of two columns with one name the first counts. */
function findColumns(header: Row): Map<string, number> {
  const columns = new Map<string, number>();
  header.eachCell((cell, column) => {
    const name = normalHeader(read(cell).text);
    const known = BULK_COLUMNS.find((candidate) => normalHeader(candidate.header) === name);
    if (known && !columns.has(known.field)) columns.set(known.field, column);
  });
  return columns;
}

function read(cell: Cell): CellContent {
  // exceljs gives the value of a merged range for each of its cells; only the first one holds it.
  if (cell.type === ValueType.Merge) return { text: '', isDate: false };
  // The value of a formula leaves a result of 0 out.
  return content(cell.type === ValueType.Formula ? cell.result : cell.value);
}

function content(value: CellValue): CellContent {
  if (value === null || value === undefined) return { text: '', isDate: false };
  // A number that is too large for a day, in a cell of dates, is an invalid Date.
  if (value instanceof Date) return { text: Number.isNaN(+value) ? String(value) : dateOfUtcDay(value), isDate: true };
  if (typeof value === 'string') return plain(value);
  // Without an exponent, however large: 1e21 is not digits.
  if (typeof value === 'number') return plain(new Decimal(value).toFixed());
  if (typeof value === 'boolean') return plain(value ? 'TRUE' : 'FALSE');
  if ('richText' in value) return plain(value.richText.map(({ text }) => text).join(''));
  if ('error' in value) return plain(value.error);
  // The text of a link may be formatted in parts, which the type does not say.
  if ('hyperlink' in value) return content(value.text);
  return content(value.result);
}

/** `trim` takes non-breaking spaces away too. */
function plain(text: string): CellContent {
  return { text: text.trim(), isDate: false };
}
