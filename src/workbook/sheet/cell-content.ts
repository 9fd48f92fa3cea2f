import { type FilingDate, dayFirst, parseFilingDate, DAY_MS } from '../../domain/dates';
import { TOO_MUCH_TEXT } from '../../domain/rules/value-messages';
import { utf8Bytes, withoutHidden } from '../../domain/text';
import { oversized, type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import type { RawCell } from './sheet-rows';
import { unescaped } from '../ooxml/xml-edit';
import { readXml } from '../ooxml/xml-reader';

/** A cell's content as a person sees it, whatever program wrote it. */
export type CellContent =
  | { kind: 'blank' }
  /** `typed` keeps the spaces that `text` drops, because they matter in a password. */
  | { kind: 'text'; text: string; typed: string; bytes: number }
  | ({ kind: 'number'; value: number } & Pick<NumberFormat, 'zeros' | 'shows'>)
  | { kind: 'date'; date: FilingDate }
  | { kind: 'boolean'; shown: 'TRUE' | 'FALSE' }
  /** Unusable content. `shown` is what the cell displays, `hint` says what to do. */
  | { kind: 'unusable'; shown: string; hint: string };

/** Data that a workbook's cells refer to. */
export interface CellContext {
  /** A shared string as cell content. */
  shared: (index: number) => CellContent;
  formatOf: (style: number) => NumberFormat;
  /** Whether day 0 is 1 January 1904 instead of 30 December 1899. */
  date1904: boolean;
  /** Counts the bytes of a text that was read. @throws WorkbookRefused beyond the limit */
  count: (bytes: number) => void;
}

/** @param strings shared strings as stored; each is decoded once, however many cells use it */
export function cellContext(
  args: { strings: readonly string[] } & Pick<WorkbookLimits, 'texts'> & Pick<CellContext, 'formatOf' | 'date1904'>,
): CellContext {
  const { strings, texts, ...context } = args;
  const contents: CellContent[] = [];
  let bytesLeft = texts;
  return {
    ...context,
    shared: (index) => (contents[index] ??= textContent(strings[index] ?? '')),
    count: (bytes) => {
      bytesLeft -= bytes;
      if (bytesLeft < 0) throw new WorkbookRefused('too_much_text', TOO_MUCH_TEXT);
    },
  };
}

const BLANK: CellContent = { kind: 'blank' };
const NO_RESULT: CellContent = {
  kind: 'unusable',
  shown: 'a formula',
  hint: 'The formula has no stored result. Open the workbook in Excel and save it, or write the value.',
};

/** Turns no-break and narrow spaces into plain ones, and removes invisible characters (zero-width, direction marks). */
function visibleText(text: string): string {
  return withoutHidden(text.replace(/[\u00a0\u2007\u202f]/g, ' ')).trim();
}

/** @throws WorkbookRefused if the cells read so far have too much text */
export function cellContent(cell: RawCell, context: CellContext): CellContent {
  const content = contentOf(cell, context);
  if (content.kind === 'text') context.count(content.bytes);
  return content;
}

function contentOf({ type, style, data }: RawCell, context: CellContext): CellContent {
  if (data === undefined) return NO_RESULT;
  switch (type) {
    case 's':
      return /^\s*\d{1,9}\s*$/.test(data) ? context.shared(Number(data)) : BLANK;
    case 'inlineStr':
    case 'str':
      return textContent(data);
    case 'd':
      return wordedDate(data);
    case 'b':
      return { kind: 'boolean', shown: data.trim() === '1' || data.trim() === 'true' ? 'TRUE' : 'FALSE' };
    case 'e':
      return {
        kind: 'unusable',
        shown: data,
        hint: 'The cell shows an error. Correct its formula, or write the value.',
      };
    default:
      return data.trim() === '' ? BLANK : numberContent(Number(data), context.formatOf(style), context.date1904);
  }
}

function textContent(raw: string): CellContent {
  const typed = unescaped(raw);
  const text = visibleText(typed);
  return text === '' ? BLANK : { kind: 'text', text, typed, bytes: utf8Bytes(typed) };
}

function numberContent(value: number, format: NumberFormat, date1904: boolean): CellContent {
  if (!Number.isFinite(value))
    return { kind: 'unusable', shown: String(value), hint: 'The cell holds no number. Write the value again.' };
  if (format.shows === 'date') return dateContent(value, date1904);
  if (format.shows === 'else') return { kind: 'unusable', shown: String(value), hint: SHOWS_ELSE };
  // Spreadsheets calculate with and show 15 digits. Without rounding, a formula's stored 1234.5600000000001 would have
  // too many decimals for an amount.
  const exact = Number.isSafeInteger(value) ? value : Number(value.toPrecision(15));
  return { kind: 'number', value: exact, zeros: format.zeros, shows: format.shows };
}

/** A date cell stored as an ISO date instead of a day count. A time of day is dropped. */
function wordedDate(data: string): CellContent {
  const [, day] = /^\s*(\d{4}-\d{2}-\d{2})(?:T[\d:.]{5,16})?\s*$/.exec(data) ?? [];
  const parsed = day === undefined ? undefined : parseFilingDate(day);
  return parsed?.ok ? { kind: 'date', date: parsed.date } : textContent(data);
}

/** 1 January 1970 and 1 January 1904 as day numbers from 30 December 1899. */
const DAYS_1970 = 25_569;
const DAYS_1904 = 1462;

/** The date of a day count. It is computed in UTC alone; a time of day is dropped. */
function dateContent(days: number, date1904: boolean): CellContent {
  const instant = new Date(Math.round((days + (date1904 ? DAYS_1904 : 0) - DAYS_1970) * DAY_MS));
  const parsed = Number.isNaN(instant.getTime()) ? undefined : parseFilingDate(instant.toISOString().slice(0, 10));
  if (parsed?.ok) return { kind: 'date', date: parsed.date };
  const hint = `The cell holds no date of this calendar. ${dateMeant(days)}`;
  return { kind: 'unusable', shown: String(days), hint };
}

/** Advice for a date typed without separators into a date cell: it becomes a far day, and Excel shows ####. */
function dateMeant(days: number): string {
  const typed = parseFilingDate(String(days).padStart(8, '0'));
  return typed.ok ? `Write ${dayFirst(typed.date)}, if that is meant.` : 'Write the date again.';
}

/** How a cell shows its number. */
export interface NumberFormat {
  /**
   * `value`: unchanged; `digits`: rounded, grouped or with leading zeros; `decorated`: with other characters, such as a
   * currency; `else`: a percentage, a time, a count of thousands, or nothing.
   */
  shows: 'value' | 'digits' | 'decorated' | 'date' | 'else';
  /** Width of a format such as `0000000`, which shows leading zeros that the number lacks; otherwise 0. */
  zeros: number;
}

export const GENERAL: NumberFormat = { shows: 'value', zeros: 0 };

const SHOWS_ELSE =
  'The format of the cell makes it show something else, such as a percentage, a time, thousands or nothing. Format it as a number (an identifier as text) and write the value again.';

/** Built-in date formats by number. 27 to 36 and 50 to 58 are dates in East Asian versions. */
const BUILT_IN_DATES = [
  [14, 17],
  [22, 22],
  [27, 36],
  [50, 58],
] as const;

/** Built-in percentages (9, 10) and times. Other built-in formats show digits, some with a currency. */
const BUILT_IN_ELSE = [
  [9, 10],
  [18, 21],
  [45, 47],
] as const;

/** A cell's number format by its style index, from the workbook's styles part. @throws WorkbookRefused */
export function readNumberFormats(styles: Buffer, limits: WorkbookLimits): (style: number) => NumberFormat {
  const codes = new Map<number, NumberFormat>();
  const formats: NumberFormat[] = [];
  let inCellStyles = false;
  readXml(styles, {
    open: (name, { numFmtId = '0', formatCode = '' }) => {
      if (name === 'numFmt') codes.set(Number(numFmtId), readCode(formatCode));
      else if (name === 'cellXfs') inCellStyles = true;
      else if (name === 'xf' && inCellStyles) formats.push(codes.get(Number(numFmtId)) ?? builtIn(Number(numFmtId)));
      if (formats.length > limits.styles)
        throw oversized('too_many_styles', 'The workbook has more cell styles than Excel takes');
    },
    close: (name) => {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return (style) => formats[style] ?? GENERAL;
}

function builtIn(id: number): NumberFormat {
  const isOneOf = (ranges: readonly (readonly [number, number])[]) =>
    ranges.some(([from, to]) => id >= from && id <= to);
  if (isOneOf(BUILT_IN_DATES)) return { shows: 'date', zeros: 0 };
  if (isOneOf(BUILT_IN_ELSE)) return { shows: 'else', zeros: 0 };
  return id === 0 || id === 49 ? GENERAL : { shows: 'digits', zeros: 0 };
}

/** Literals that change the amount shown: further digits (`0",000"` shows 5 as 5,000), or the name of a multiple. */
const MULTIPLIES = /\d|\b(?:k|mn?|bn|thousands?|la(?:kh|c)s?|crores?|millions?|billions?)\b/i;

function readCode(code: string): NumberFormat {
  const { bare, literals } = withoutLiterals(code);
  const general = /general/i.test(bare);
  if (/[dy]/i.test(bare) && !general) return { shows: 'date', zeros: 0 };
  // The first section is for positive numbers; a filing has no others.
  const [section = ''] = bare.split(';', 1);
  const placed = section.replace(/general|E[+-](?=0)/gi, '');
  const isTime = /[hms]/i.test(placed) && !/[#?]/.test(placed);
  const isScaled = /%|[0#?],+(?![0#?,])/.test(placed);
  const hasPlace = general || /[0#?@]/.test(placed);
  if (isTime || isScaled || !hasPlace || MULTIPLIES.test(literals)) return { shows: 'else', zeros: 0 };
  if (/[^\s,]/.test(literals) || /[^0#?@.,\s]/.test(placed)) return { shows: 'decorated', zeros: 0 };
  return /[0#?]/.test(placed) ? { shows: 'digits', zeros: /^0+$/.test(placed) ? placed.length : 0 } : GENERAL;
}

/**
 * `bare`: the format without literals, colours, conditions and currencies, whose letters are no codes. `literals`:
 * those shown with positive numbers.
 */
function withoutLiterals(code: string): { bare: string; literals: string } {
  let bare = '';
  let literals = '';
  let isPositive = true;
  const show = (text: string) => {
    if (isPositive) literals += text;
  };
  for (let at = 0; at < code.length; at += 1) {
    const character = code.charAt(at);
    const closing = character === '"' ? '"' : character === '[' ? ']' : undefined;
    if (closing !== undefined) {
      const end = code.indexOf(closing, at + 1);
      // An unclosed quote or bracket is no literal, and no later one can be closed either.
      if (end < 0) return { bare: bare + code.slice(at), literals };
      const inside = code.slice(at + 1, end);
      // `[h]` counts hours; `[$USD-409]` is a currency with its language.
      if (/^(?:h+|m+|s+)$/i.test(inside)) bare += inside;
      else show(closing === '"' ? inside : (/^\$([^-]*)/.exec(inside)?.[1] ?? ''));
      at = end;
    } else if (character === '\\' || character === '_' || character === '*') {
      at += 1;
      if (character === '\\') show(code.charAt(at));
    } else {
      bare += character;
      if (character === ';') isPositive = false;
    }
  }
  return { bare, literals };
}
