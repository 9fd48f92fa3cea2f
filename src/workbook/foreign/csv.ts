import { CsvError, parse } from 'csv-parse/sync';
import { utils } from '@e965/xlsx';
import { columnOfHeader } from '../../domain/rules/columns';
import { listed } from '../../domain/rules/value-messages';
import { LAST_COLUMN } from '../sheet/addresses';
import { escapedText } from '../ooxml/xml-edit';
import { oversized, type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { xlsxOf } from './xls';

/** CSV as .xlsx: every value is a text cell, in the row in which a spreadsheet shows it. */
export function xlsxOfCsv(file: Buffer, limits: Pick<WorkbookLimits, 'cells'>): Buffer {
  const rows = recordsOf(textOf(file), limits);
  refuseShifted(rows);
  const cells = rows.map((row) => row.map((text) => (text === '' ? null : escapedText(text))));
  const book = utils.book_new();
  utils.book_append_sheet(book, utils.aoa_to_sheet(cells, { dense: true }), 'CSV');
  return xlsxOf(book);
}

/** Excel writes UTF-8 with a mark, UTF-16, or the code page of Windows; other programs UTF-8 without a mark. */
function textOf(file: Buffer): string {
  const utf16 = file[0] === 0xff && file[1] === 0xfe;
  let text: string;
  try {
    text = new TextDecoder(utf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(file);
  } catch {
    text = new TextDecoder('windows-1252').decode(file);
  }
  if (text.includes('\u0000')) throw notCsv('The file is no text');
  return text;
}

function recordsOf(text: string, limits: Pick<WorkbookLimits, 'cells'>): string[][] {
  let cells = 0;
  const count = (record: string[]) => {
    cells += record.reduce((filled, value) => filled + (value === '' ? 0 : 1), 0);
    if (cells > limits.cells || record.length > LAST_COLUMN)
      throw oversized(
        'too_many_cells',
        `The file has more than ${limits.cells} filled cells, or more columns than Excel`,
      );
    return record;
  };
  try {
    return parse(text, { delimiter: separatorOf(text), relax_column_count: true, on_record: count });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw notCsv(`Near line ${String(error.lines)} a quotation mark opens or closes in the wrong place`);
  }
}

/** More than the headers have. */
const HEADER_LENGTH = 20_000;

/** The sign that separates more of the headers. */
function separatorOf(text: string): string {
  const [header = ''] = text
    .slice(0, HEADER_LENGTH)
    .replace(/"(?:[^"]|"")*"/g, '')
    .split(/[\r\n]/, 1);
  const [commas, semicolons] = [',', ';'].map((sign) => header.split(sign).length);
  return (semicolons ?? 0) > (commas ?? 0) ? ';' : ',';
}

/** A value with the separator in it, such as 8,000.50 without quotation marks, moves those behind it. */
function refuseShifted([header = [], ...rows]: readonly string[][]): void {
  // Without headers in row 1, that is what is said.
  if (!header.some((text) => columnOfHeader(text))) return;
  const longer = rows.flatMap((row, at) => (row.length > header.length && row.some(Boolean) ? [at + 2] : []));
  if (longer.length === 0) return;
  const message = `${longer.length > 1 ? `Rows ${listed(longer)} have` : `Row ${listed(longer)} has`} more values than the header. Put a value that holds the separator, such as 8,000.50, into quotation marks, or write it without.`;
  throw new WorkbookRefused('csv_columns', message);
}

const notCsv = (what: string) =>
  new WorkbookRefused('not_csv', `${what}. Open it in a spreadsheet program and save it as an Excel workbook (.xlsx).`);
