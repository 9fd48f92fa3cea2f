import type { WorkbookLimits } from '../ooxml/limits';
import { WorkbookRefused } from '../ooxml/refused';

/**
 * Brings the XML of a sheet into one dialect, whatever program wrote it: no prefixes, an address in every row and cell, ISO
 * dates as text, and a formula only where it has no stored result. What no reader needs
 * (empty styled cells, formulas that have a result, everything around the rows) goes, which also bounds time and memory.
 * All patterns stop at the next `<`, so that hostile text costs no more than its length.
 */
export interface SheetXml {
  /** A worksheet with nothing but its filled rows. */
  xml: string;
  /** Ranges of merged cells, such as `B2:B4`. */
  merged: string[];
}

export const SHEET_START = '<worksheet><sheetData>';
export const SHEET_END = '</sheetData></worksheet>';

const CELL_TAG = /<c(?=[\s/>])([^<>]*)>/g;

export function canonicalSheet(source: string, limits: WorkbookLimits): SheetXml {
  const xml = withoutPrefix(source);
  const start = xml.indexOf('<sheetData');
  const end = xml.lastIndexOf('</sheetData>');
  // Rows that were lost with the end of the file would never be missed.
  if (start >= 0 && end < start && !/^<sheetData(?:\s[^<>]*)?\/>/.test(xml.slice(start, start + 200))) {
    throw new WorkbookRefused(
      'damaged',
      'The first worksheet is cut off. Open the workbook in Excel and save it anew.',
    );
  }
  const rows = start < 0 || end < start ? '' : xml.slice(xml.indexOf('>', start) + 1, end);
  const merged = [...xml.slice(Math.max(end, 0)).matchAll(/<mergeCell\s[^<>]*?ref="([A-Z]+\d+:[A-Z]+\d+)"/g)].map(
    (match) => match[1] ?? '',
  );
  const canonical = filledOnly(plainFormulas(addressed(isoDatesAsText(rows))));
  refuseTooMany(canonical, limits);
  return { xml: SHEET_START + canonical + SHEET_END, merged };
}

/** `<x:row>` as `<row>`: other programs bind the same namespace to a prefix. */
export function withoutPrefix(xml: string): string {
  const prefix = rootPrefix(xml);
  return prefix === undefined ? xml : xml.replaceAll(`<${prefix}:`, '<').replaceAll(`</${prefix}:`, '</');
}

/** Like {@link withoutPrefix}, for XML that is saved again: the namespace becomes the one of names without a prefix. */
export function withDefaultNamespace(xml: string): string {
  const prefix = rootPrefix(xml);
  if (prefix === undefined) return xml;
  return withoutPrefix(xml).replace(/<[A-Za-z][^<>]*>/, (root) =>
    root.replace(/\sxmlns="[^"]*"/, '').replace(` xmlns:${prefix}=`, ' xmlns='),
  );
}

function rootPrefix(xml: string): string | undefined {
  return /^\s*(?:<\?[^>]*>\s*)?<([A-Za-z_][\w.-]*):(?:worksheet|workbook|sst|styleSheet|comments|Types|Relationships)[\s>]/.exec(
    xml,
  )?.[1];
}

/** Cells of type `d` hold an ISO date; as text the date rules read it. */
function isoDatesAsText(rows: string): string {
  return rows.includes('t="d"') ? rows.replace(CELL_TAG, (tag) => tag.replace(/\st="d"/, ' t="str"')) : rows;
}

/** Gives rows and cells the addresses that the format lets a writer leave out, before empty cells are dropped. */
export function addressed(rows: string): string {
  if (!/<(?:c|row)(?=[\s/>])(?![^<>]*\sr=")/.test(rows)) return rows;
  let row = 0;
  let column = 0;
  return rows.replace(/<(row|c)(?=[\s/>])([^<>]*)>/g, (tag: string, name: string, attributes: string) => {
    const given = /\sr="([^"]*)"/.exec(attributes)?.[1];
    if (name === 'row') {
      row = given === undefined ? row + 1 : Number(given);
      column = 0;
      return given === undefined ? `<row r="${row}"${attributes}>` : tag;
    }
    column = given === undefined ? column + 1 : columnNumber(given.replace(/\d+$/, ''));
    return given === undefined ? `<c r="${columnLetter(column)}${row}"${attributes}>` : tag;
  });
}

/**
 * A formula with a stored result becomes that result; `""` as a result becomes an empty cell; a formula without any result
 * stays as a formula, so that the reader can say so.
 */
function plainFormulas(rows: string): string {
  if (!rows.includes('<f')) return rows;
  return rows
    .replace(
      /(<c(?=[\s/>])[^<>]*>)<f(?=[\s/>])(?:[^<>]*\/>|[^<>]*>[^<]*<\/f>)<v\s*(?:\/>|><\/v>)<\/c>/g,
      (_, cell: string) => (cell.includes(' t="str"') ? '' : `${cell}<f>0</f></c>`),
    )
    .replace(/<f(?=[\s/>])(?:[^<>]*\/>|[^<>]*>[^<]*<\/f>)(?=<v[\s>])/g, '')
    .replace(/<f(?=[\s/>])(?:[^<>]*\/>|[^<>]*>[^<]*<\/f>)/g, '<f>0</f>');
}

function filledOnly(rows: string): string {
  return rows.replace(/<c(?=[\s/>])[^<>]*(?:\/>|><\/c>)/g, '').replace(/<row(?=[\s/>])[^<>]*(?:\/>|>\s*<\/row>)/g, '');
}

function refuseTooMany(rows: string, limits: WorkbookLimits): void {
  if (countOf(rows, '<c ') > limits.cells) {
    throw new WorkbookRefused(
      'too_many_cells',
      `The first worksheet has more than ${limits.cells} filled cells. Split it into several workbooks.`,
    );
  }
  const filled = countOf(rows, '<row') - 1;
  if (filled > limits.rows) {
    throw new WorkbookRefused(
      'too_many_rows',
      `The first worksheet has ${filled} data rows, more than the ${limits.rows} that are taken. Split it into several workbooks.`,
    );
  }
}

/** How often a word stands in a text; splitting would make a string for every cell. */
function countOf(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) count += 1;
  return count;
}

/** 1 for A, 27 for AA. */
export function columnNumber(letters: string): number {
  let number = 0;
  for (let at = 0; at < letters.length; at += 1) number = number * 26 + letters.charCodeAt(at) - 64;
  return number;
}

/** A for 1, AA for 27. */
export function columnLetter(column: number): string {
  let letters = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  return letters;
}
