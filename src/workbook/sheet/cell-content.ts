import { type FilingDate, dayFirst, filingDateInKolkata, parseFilingDate, DAY_MS } from '../../domain/dates';
import { TOO_MUCH_TEXT } from '../../domain/rules/value-messages';
import { utf8Bytes, withoutHidden } from '../../domain/text';
import { type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import type { NumberFormat, ShownNumber } from './number-format';
import type { RawCell } from './sheet-rows';
import { unescaped } from '../ooxml/xml-edit';

/** A cell's content as a person sees it, whatever program wrote it. */
export type CellContent =
  | { kind: 'blank' }
  /** `typed` keeps the spaces that `text` drops, because they matter in a password. */
  | { kind: 'text'; text: string; typed: string; bytes: number }
  | ({ kind: 'number'; value: number } & ShownNumber)
  /** `inIndia`: the day in India, if the cell has a time of day and means UTC; only where it is another one. */
  | { kind: 'date'; date: FilingDate; inIndia?: FilingDate }
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
      return data.trim() === '' ? BLANK : numberContent(data.trim(), context.formatOf(style), context.date1904);
  }
}

function textContent(raw: string): CellContent {
  const typed = unescaped(raw);
  const text = visibleText(typed);
  return text === '' ? BLANK : { kind: 'text', text, typed, bytes: utf8Bytes(typed) };
}

/** What the format allows; a program may take more, such as hexadecimal digits, for another number than Excel. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

function numberContent(data: string, format: NumberFormat, date1904: boolean): CellContent {
  const value = Number(data);
  if (!Number.isFinite(value) || !NUMBER.test(data))
    return { kind: 'unusable', shown: data, hint: 'The cell holds no number. Write the value again.' };
  const { shows, ...digits } = format(value);
  if (shows === 'date') return dateContent(value, date1904);
  if (shows === 'else') return { kind: 'unusable', shown: String(value), hint: SHOWS_ELSE };
  // Spreadsheets calculate with and show 15 digits. Without rounding, a formula's stored 1234.5600000000001 would have
  // too many decimals for an amount.
  const exact = Number.isSafeInteger(value) ? value : Number(value.toPrecision(15));
  return { kind: 'number', value: exact, shows, ...digits };
}

/** A date cell stored as an ISO date instead of a day count. */
function wordedDate(data: string): CellContent {
  const [, day, time = 'T00:00'] = /^\s*(\d{4}-\d{2}-\d{2})(T[\d:.]{5,16})?\s*$/.exec(data) ?? [];
  const parsed = day === undefined ? undefined : parseFilingDate(day);
  return parsed?.ok ? dateAt(parsed.date, Date.parse(`${day}${time}Z`)) : textContent(data);
}

/** 1 January 1970 and 1 January 1904 as day numbers from 30 December 1899. */
const DAYS_1970 = 25_569;
const DAYS_1904 = 1462;

/** The date of a day count, computed in UTC alone. */
function dateContent(days: number, date1904: boolean): CellContent {
  const instant = new Date(Math.round((days + (date1904 ? DAYS_1904 : 0) - DAYS_1970) * DAY_MS));
  const parsed = Number.isNaN(instant.getTime()) ? undefined : parseFilingDate(instant.toISOString().slice(0, 10));
  if (parsed?.ok) return dateAt(parsed.date, instant.getTime());
  const hint = `The cell holds no date of this calendar. ${dateMeant(days)}`;
  return { kind: 'unusable', shown: String(days), hint };
}

/** A date cell. From 18:30 on its time of day, if it is one in UTC, belongs to the next day in India. */
function dateAt(date: FilingDate, instant: number): CellContent {
  const inIndia = Number.isNaN(instant) ? date : filingDateInKolkata(instant);
  return { kind: 'date', date, ...(inIndia !== date && { inIndia }) };
}

/** Advice for a date typed without separators into a date cell: it becomes a far day, and Excel shows ####. */
function dateMeant(days: number): string {
  const typed = parseFilingDate(String(days).padStart(8, '0'));
  return typed.ok ? `Write ${dayFirst(typed.date)}, if that is meant.` : 'Write the date again.';
}

const SHOWS_ELSE =
  'The format of the cell makes it show something else, such as a percentage, a time, thousands, another sign or nothing. Format it as a number (an identifier as text) and write the value again.';
