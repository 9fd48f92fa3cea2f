import { Workbook, ValueType, type Cell, type CellValue, type Row, type Worksheet } from 'exceljs';
import { Decimal } from 'decimal.js';
import { dateOfUtcDay } from '../authority/calendar';
import { BULK_COLUMNS, normalHeader } from './bulk-columns';

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
  if (value instanceof Date) return { text: dateOfUtcDay(value), isDate: true };
  if (typeof value === 'string') return plain(value);
  // Without an exponent, however large: 1e21 is not digits.
  if (typeof value === 'number') return plain(new Decimal(value).toFixed());
  if (typeof value === 'boolean') return plain(value ? 'TRUE' : 'FALSE');
  if ('richText' in value) return plain(value.richText.map(({ text }) => text).join(''));
  if ('error' in value) return plain(value.error);
  if ('hyperlink' in value) return plain(value.text);
  return content(value.result);
}

/** `trim` takes non-breaking spaces away too. */
function plain(text: string): CellContent {
  return { text: text.trim(), isDate: false };
}
