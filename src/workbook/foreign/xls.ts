import { CFB, read, SSF, utils, write, type CellObject, type WorkBook, type WorkSheet } from '@e965/xlsx';
import { damaged, encrypted, tooLong, WorkbookRefused } from '../ooxml/limits';
import { escapedText } from '../ooxml/xml-edit';

/** Parts of the library that its types leave open. */
const containers = CFB as {
  read: (file: Buffer, options: { type: 'buffer' }) => object;
  find: (container: object, path: string) => { content: Uint8Array } | null;
};
const formats = SSF as { get_table: () => Record<string, string> };

/** The most characters of a cell, escapes included, that the library writes. */
export const LONGEST_TEXT = 32_767;

/** A format that shows nothing, so that a number whose own format is unknown is refused instead of guessed. */
const UNKNOWN_FORMAT = ';;;';

/** An .xls as .xlsx: its worksheets with their values, formats, merged cells, and hidden rows and columns. */
export const xlsxOfXls = (file: Buffer): Buffer => quietly(() => xlsxOf(copyOf(file)));

function copyOf(file: Buffer): WorkBook {
  const records = recordsOf(file);
  forgetFormats();
  const options = { dense: true, cellNF: true, cellStyles: true, cellFormula: false } as const;
  const book = read(file, { type: 'buffer', ...options });
  const copy = utils.book_new();
  const positions = records.sheets.map(({ position }) => position).sort((a, b) => a - b);
  const details: { Hidden: 0 | 1 }[] = [];
  for (const { position, hidden, isWorksheet } of records.sheets) {
    if (!isWorksheet) continue;
    const name = book.SheetNames[positions.indexOf(position)];
    const sheet = name === undefined ? undefined : book.Sheets[name];
    if (name === undefined || sheet === undefined) throw isDamaged();
    utils.book_append_sheet(copy, valuesOf(sheet), nameOf(name), true);
    details.push({ Hidden: hidden ? 1 : 0 });
  }
  copy.Workbook = { Sheets: details, WBProps: { date1904: book.Workbook?.WBProps?.date1904 === true } };
  if (copy.SheetNames.length > 0) return copy;
  throw new WorkbookRefused('no_worksheet', 'The workbook has no worksheet. Put the rows on its first worksheet.');
}

/** A name that the new format allows. */
const nameOf = (name: string): string => name.replace(/[[\]*?/\\:']/g, '_').slice(0, 31) || 'Sheet';

export function xlsxOf(book: WorkBook): Buffer {
  return write(book, { type: 'buffer', bookType: 'xlsx', compression: true }) as Buffer;
}

const isDamaged = () => damaged('The .xls workbook is damaged or cut off');

/** Runs the library, which throws any error for a damaged file, and prints the number of a record that it skips. */
function quietly<T>(work: () => T): T {
  const output: { error: unknown } = globalThis.console;
  const { error } = output;
  output.error = () => undefined;
  try {
    return work();
  } catch (problem) {
    throw problem instanceof WorkbookRefused ? problem : isDamaged();
  } finally {
    output.error = error;
  }
}

function recordsOf(file: Buffer) {
  const container = containers.read(file, { type: 'buffer' });
  const stream = containers.find(container, '/Workbook') ?? containers.find(container, '/Book');
  if (!stream) {
    const message = 'The file is no workbook, whatever its name says. Save the rows as an Excel workbook (.xlsx).';
    throw new WorkbookRefused('not_a_workbook', message);
  }
  const records = readRecords(Buffer.from(stream.content));
  if (records.locked) throw encrypted();
  if (!records.whole) throw isDamaged();
  if (records.stale) {
    const message = 'The workbook was saved before its formulas were calculated. Open it in Excel and save it again.';
    throw new WorkbookRefused('uncalculated', message);
  }
  return records;
}

let builtIn: Record<string, string> | undefined;

/** The library keeps the formats of the files that it read before. */
function forgetFormats(): void {
  const table = formats.get_table();
  builtIn ??= { ...table };
  for (const id of Object.keys(table)) if (!(id in builtIn)) delete table[id];
  Object.assign(table, builtIn);
}

/** Only values and how they are shown: comments, links and rich text have no part in a filing. */
function valuesOf(sheet: WorkSheet): WorkSheet {
  // The library does not write a list with gaps, which it reads for blank rows, nor rows that a range only announces.
  const rows = Array.from<CellObject[] | undefined>(sheet['!data'] ?? []).map((row) => (row ?? []).map(valueOf));
  const columns = rows.reduce((most, { length }) => Math.max(most, length), 0);
  const last = { r: rows.length - 1, c: columns - 1 };
  const { '!merges': merges, '!cols': widths, '!rows': heights } = sheet;
  return {
    '!data': rows,
    ...(columns > 0 && { '!ref': utils.encode_range({ s: { r: 0, c: 0 }, e: last }) }),
    ...(merges && { '!merges': merges }),
    ...(widths && { '!cols': widths }),
    ...(heights && { '!rows': heights }),
  };
}

function valueOf({ t, v, z }: CellObject): CellObject {
  if (t === 's') {
    const text = escapedText(String(v ?? ''));
    if (text.length > LONGEST_TEXT) throw tooLong('A cell');
    return { t, v: text, ...(z !== undefined && { z }) };
  }
  return { t, ...(v !== undefined && { v }), z: z ?? (t === 'n' ? UNKNOWN_FORMAT : 'General') };
}

/** What the library does not tell of an .xls: the order of its sheets, and why it cannot be read. */
export interface XlsRecords {
  /** In the order of their tabs. The library has them in the order of their positions in the stream. */
  sheets: { position: number; hidden: boolean; isWorksheet: boolean }[];
  /** Encrypted, by a password or to forbid changes. */
  locked: boolean;
  /** Every sheet is there to its end; the library reads what is left of a file that is cut off. */
  whole: boolean;
  /** It has formulas, and was saved before they were calculated. */
  stale: boolean;
}

const FILE_PASS = 0x2f;
const UNCALCULATED = 0x5e;
const BOUND_SHEET = 0x85;
const BEGIN = 0x809;
const END = 0x0a;
const FORMULAS: ReadonlySet<number> = new Set([0x06, 0x206, 0x406]);

/** A record has a type, a length, and so many bytes. */
export function readRecords(stream: Buffer): XlsRecords {
  const found: XlsRecords = { sheets: [], locked: false, whole: false, stale: false };
  const begins = new Set<number>();
  let depth = 0;
  let hasFormula = false;
  let uncalculated = false;
  for (let at = 0; at + 4 <= stream.length;) {
    const type = stream.readUInt16LE(at);
    const length = stream.readUInt16LE(at + 2);
    const data = stream.subarray(at + 4, at + 4 + length);
    if (type === BEGIN) {
      begins.add(at);
      depth += 1;
    } else if (type === END) depth -= 1;
    at += 4 + length;
    if (type === FILE_PASS) found.locked = true;
    if (type === UNCALCULATED) uncalculated = true;
    if (FORMULAS.has(type)) hasFormula = true;
    if (type !== BOUND_SHEET || data.length < 6) continue;
    const [state = 0, kind = 0] = data.subarray(4);
    found.sheets.push({ position: data.readUInt32LE(0), hidden: (state & 3) !== 0, isWorksheet: kind === 0 });
  }
  found.whole = depth === 0 && found.sheets.every(({ position }) => begins.has(position));
  found.stale = hasFormula && uncalculated;
  return found;
}
