import { WorkbookRefused } from '../ooxml/refused';
import { SHEET_END, SHEET_START, columnNumber } from './sheet-xml';

/** A cell as the file has it. */
export interface RawCell {
  /** From 1. */
  column: number;
  /** `s` shared string, `str` and `inlineStr` text, `b` boolean, `e` error, empty for a number. */
  type: string;
  style: number;
  /** The value element's data, or the whole inline string; undefined for a formula without a stored result. */
  data: string | undefined;
}

export interface RawRow {
  number: number;
  hidden: boolean;
  cells: RawCell[];
}

const LAST_COLUMN = 16_384;
const LAST_ROW = 1_048_576;

const TAG = /<(row|c)(?=[\s>])([^<>]*)>/g;

/**
 * Walks the rows of a canonical sheet (sheet-xml.ts) one at a time. exceljs makes about a kilobyte of objects per cell; a
 * 5 MB workbook has room for hundreds of thousands of cells, nearly all of them in columns that are not filed.
 *
 * @throws WorkbookRefused (`damaged`) where a cell is none
 */
export function* rawRows(xml: string): Generator<RawRow> {
  const pattern = new RegExp(TAG);
  // Two rows or cells of one address: programs differ in which of them they show.
  const seen = new Set<number>();
  let row: RawRow | undefined;
  let read = SHEET_START.length;
  for (let tag = pattern.exec(xml); tag !== null; tag = pattern.exec(xml)) {
    const [, name, attributes = ''] = tag;
    // Text that is neither row nor cell would be lost without a word, and with it what somebody meant to file.
    if (!isBetween(xml.slice(read, tag.index))) throw damaged(attributes);
    read = pattern.lastIndex;
    if (name === 'row') {
      if (row) yield row;
      const number = Number(/\sr="(\d+)"/.exec(attributes)?.[1]);
      if (!(number >= 1 && number <= LAST_ROW) || seen.has(number)) throw damaged(attributes);
      seen.add(number);
      row = {
        number,
        hidden: /\shidden="(?:1|true|on)"/.test(attributes),
        cells: [],
      };
      continue;
    }
    const end = xml.indexOf('</c>', pattern.lastIndex);
    if (!row || end < 0) throw damaged(attributes);
    const cell = readCell(attributes, xml.slice(pattern.lastIndex, end));
    const last = row.cells.at(-1);
    if (last && cell.column <= last.column && row.cells.some(({ column }) => column === cell.column)) {
      throw damaged(attributes);
    }
    row.cells.push(cell);
    pattern.lastIndex = end + 4;
    read = pattern.lastIndex;
  }
  if (!isBetween(xml.slice(read, -SHEET_END.length))) throw damaged('');
  if (row) yield row;
}

function isBetween(text: string): boolean {
  return text === '' || text === '</row>' || /^\s*(?:<\/row>)?\s*$/.test(text);
}

/** Attributes as every program writes them; any other order goes the slow way. */
const USUAL = /^ r="([A-Z]{1,3})[1-9]\d{0,6}"(?: s="(\d+)")?(?: t="(\w+)")?$/;

function readCell(attributes: string, body: string): RawCell {
  const usual = USUAL.exec(attributes);
  const letters = usual ? usual[1] : /\sr="([A-Z]{1,3})[1-9]\d{0,6}"/.exec(attributes)?.[1];
  const style = usual ? usual[2] : /\ss="(\d+)"/.exec(attributes)?.[1];
  const type = (usual ? usual[3] : /\st="(\w*)"/.exec(attributes)?.[1]) ?? '';
  const column = columnNumber(letters ?? '');
  if (column < 1 || column > LAST_COLUMN) throw damaged(attributes);
  const cell: RawCell = { column, type: type === 'n' ? '' : type, style: Number(style ?? -1), data: undefined };
  if (body.startsWith('<v>') && body.indexOf('<', 3) === body.length - 4 && body.endsWith('</v>')) {
    cell.data = body.slice(3, -4);
    return cell;
  }
  if (body.startsWith('<is')) return { ...cell, type: 'inlineStr', data: body };
  const value = /^\s*<v(?:\s[^<>]*)?>([^<]*)<\/v>/.exec(body);
  if (value) return { ...cell, data: value[1] };
  if (body.trim() === '<f>0</f>') return cell;
  if (/^\s*(?:<v\s*\/>\s*|<extLst>.*)?$/s.test(body)) return { ...cell, type: 'str', data: '' };
  throw damaged(attributes);
}

function damaged(attributes: string): WorkbookRefused {
  const where = /\sr="([A-Z]+[0-9]+)"/.exec(attributes)?.[1] ?? 'of the first worksheet';
  return new WorkbookRefused(
    'damaged',
    `Cell ${where} cannot be read. Open the workbook in Excel and save it anew as .xlsx.`,
  );
}
