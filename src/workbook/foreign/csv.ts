import { CsvError, parse } from 'csv-parse/sync';
import { utils } from '@e965/xlsx';
import { columnOfHeader } from '../../domain/rules/columns';
import { listed } from '../../domain/rules/value-messages';
import { LAST_COLUMN } from '../sheet/addresses';
import { escapedText } from '../ooxml/xml-edit';
import { decodedWhole } from '../ooxml/xml-reader';
import { oversized, tooLong, type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { LONGEST_TEXT, xlsxOf } from './xls';

/** CSV as .xlsx: every value is a text cell, in the row in which a spreadsheet shows it. */
export function xlsxOfCsv(file: Buffer, limits: Pick<WorkbookLimits, 'cells'>): Buffer {
  const rows = recordsOf(textOf(file).replace(/^\ufeff/, ''), limits);
  refuseShifted(rows);
  const cells = rows.map((row, at) => row.map((text) => (text === '' ? null : cellText(text, at + 1))));
  const book = utils.book_new();
  utils.book_append_sheet(book, utils.aoa_to_sheet(cells, { dense: true }), 'CSV');
  return xlsxOf(book);
}

function cellText(text: string, row: number): string {
  const escaped = escapedText(text);
  if (escaped.length > LONGEST_TEXT) throw tooLong(`A cell of row ${row}`);
  return escaped;
}

/** Excel writes UTF-8 with a mark, UTF-16, or the code page of Windows; other programs UTF-8 without a mark. */
function textOf(file: Buffer): string {
  const utf16 = file[0] === 0xff && file[1] === 0xfe;
  let text: string;
  try {
    text = new TextDecoder(utf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(file);
  } catch {
    if (LETTER_OF_UTF8.test(file.toString('latin1')))
      throw notCsv('The letters of the file are in two encodings, of which one would change them');
    text = decodedWhole(new TextDecoder('windows-1252'), file);
  }
  if (text.includes('\u0000')) throw notCsv('The file is no text');
  return text;
}

/** What no text in the code page of Windows has, such as a small letter behind a capital one with an accent. */
const LETTER_OF_UTF8 = /[\u00c2-\u00df][\u0080-\u00bf]|[\u00e0-\u00ef][\u0080-\u00bf]{2}/;

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
    // Excel hides a first line that names the separator, and counts rows without it.
    const [line = '', named] = SEPARATOR_LINE.exec(text) ?? [];
    const records = text.slice(line.length);
    return parse(records, { delimiter: named ?? separatorOf(records), relax_column_count: true, on_record: count });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw notCsv(`Near line ${String(error.lines)} a quotation mark opens or closes in the wrong place`);
  }
}

/** More than the headers have. */
const HEADER_LENGTH = 20_000;

const SEPARATORS = [',', ';', '\t'];
const SEPARATOR_LINE = /^sep=([,;\t])(?:\r\n|\n|\r)/i;

/** The sign that separates more of the headers. */
function separatorOf(text: string): string {
  const [header = ''] = text
    .slice(0, HEADER_LENGTH)
    .replace(/"(?:[^"]|"")*"/g, '')
    .split(/[\r\n]/, 1);
  const count = (sign: string) => header.split(sign).length;
  return SEPARATORS.reduce((most, sign) => (count(sign) > count(most) ? sign : most));
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
