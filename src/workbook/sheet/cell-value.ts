import { dayFirst, dayInWords, filingDateFromAnything, parseFilingDate } from '../../domain/dates';
import type { ExtraValues, FieldKind } from '../../domain/filing/mapping';
import { canonicalAmount, withoutGrouping } from '../../domain/money';
import { UPLOAD_TYPES, uploadTypeNamed } from '../../domain/rules/columns';
import {
  UNWRITABLE,
  controlCharacter,
  invalidDate,
  invalidNumber,
  invalidText,
  invalidYesNo,
} from '../../domain/rules/value-messages';
import type { CellContent } from './cell-content';

/** A cell's value for a field, or why it is invalid (spec: "POST /genebrc/bulk-upload", validation rules). */
export type CellValue = { value: string | number; warning?: Problem } | Problem;

interface Problem {
  code: string;
  message: string;
}

type Filled = Exclude<CellContent, { kind: 'blank' }>;

/** Numbers written as text: digits, and for amounts a decimal point. */
const NUMBERS = { integer: /^\d+$/, amount: /^\d+(\.\d+)?$/ } as const;

/** `8.000` is eight thousand where a comma stands before decimals; nobody writes a third decimal that is 0. */
const THOUSANDS_OR_DECIMALS = /^[1-9]\d{0,2}\.\d\d0$/;

/** A longer number has already lost its last digits in a number cell. */
const EXACT_LIMIT = 1e15;

/** Maximum length of a value. No field of a filing needs more, and longer texts slow the rules down. */
const MAX_VALUE_LENGTH = 1000;

export function cellValue(field: string, kind: FieldKind, content: Filled): CellValue {
  if (content.kind === 'text' && content.text.length > MAX_VALUE_LENGTH) {
    const hint = `It has ${content.text.length} characters, more than any value of a filing. Shorten it.`;
    return { code: 'invalid_text', message: invalidText(field, content.text, hint) };
  }
  if (content.kind === 'text' && UNWRITABLE.test(content.text)) {
    return { code: 'control_character', message: controlCharacter(field, content.text) };
  }
  switch (kind) {
    case 'integer':
    case 'amount':
      return numberValue(field, content, NUMBERS[kind]);
    case 'date':
      return dateValue(field, content);
    case 'yesNo':
      return yesNoValue(field, content);
    case 'text':
      return textValue(field, content);
  }
}

/** The value of a column whose form is not documented, unchanged. */
export function extraValue(label: string, content: Filled): { value: ExtraValues[string] } | Problem {
  switch (content.kind) {
    case 'number':
      return { value: content.value };
    case 'date':
      return { value: { date: content.date } };
    case 'boolean':
      return { value: content.shown === 'TRUE' };
    default: {
      const read = cellValue(label, 'text', content);
      return 'value' in read ? { value: String(read.value) } : read;
    }
  }
}

function numberValue(field: string, content: Filled, form: RegExp): CellValue {
  const refuse = (hint?: string): CellValue => ({
    code: 'invalid_number',
    message: invalidNumber(field, shown(content), hint),
  });
  if (content.kind === 'number') return { value: content.value, ...roundedWarning(field, content) };
  if (content.kind === 'unusable') return refuse(content.hint);
  if (content.kind === 'date') return refuse('The cell is formatted as a date. Format it as a number.');
  if (content.kind !== 'text') return refuse();
  const { text } = content;
  const type = field === 'uploadType' ? uploadTypeNamed(text) : undefined;
  if (type !== undefined) return refuse(`Write ${type}, the code of ${UPLOAD_TYPES[type]}.`);
  if (THOUSANDS_OR_DECIMALS.test(text)) {
    const [whole = '', decimals = ''] = text.split('.');
    return refuse(`Write ${whole}.${decimals.slice(0, 2)} or ${whole}${decimals}: the point may be either.`);
  }
  if (form.test(text)) {
    const value = Number(text);
    return canonicalAmount(value) === canonicalAmount(text)
      ? { value }
      : refuse('It has more digits than an amount can have.');
  }
  const plain = text.replace(/^[A-Za-z]{3}(?=[\s\d])|[A-Za-z]{3}$|[₹$€£]|^Rs\.?/gi, '').trim();
  const digits = withoutGrouping(plain);
  return refuse(form.test(digits) && digits !== text ? `Write ${digits}.` : undefined);
}

function roundedWarning(
  field: string,
  { value, decimals }: Extract<Filled, { kind: 'number' }>,
): { warning?: Problem } {
  const exact = canonicalAmount(value);
  if (decimals === undefined || (exact.split('.')[1] ?? '').length <= decimals) return {};
  const to = decimals === 0 ? 'a whole number' : `${decimals} decimals`;
  const message = `${field} is ${exact}, which the cell shows rounded to ${to}. ${exact} is filed: if that is wrong, write the amount again.`;
  return { warning: { code: 'shown_rounded', message } };
}

function dateValue(field: string, content: Filled): CellValue {
  const refuse = (hint?: string): CellValue => ({
    code: 'invalid_date',
    message: invalidDate(field, shown(content), hint),
  });
  if (content.kind === 'date') return { value: content.date, ...timeWarning(field, content) };
  if (content.kind === 'unusable') return refuse(content.hint);
  if (content.kind === 'boolean') return refuse();
  // A number is read as its displayed digits, such as DDMMYYYY in a number cell. A day count displays no date.
  const text = shown(content).replace(/[T ]00:00(:00(\.0+)?)?Z?$/, '');
  const parsed = parseFilingDate(text);
  if (parsed.ok) return { value: parsed.date };
  // A time of day may fall on another day in another time zone, so no date is suggested.
  const meant = text.includes(':') ? null : filingDateFromAnything(text);
  if (meant !== null) return refuse(`Write ${dayFirst(meant)}.`);
  if (SHORT_DATE.test(text) && parsed.reason !== 'impossible') return refuse(shortDateHint(text));
  if (content.kind === 'number' && content.value > 20_000 && content.value < 80_000)
    return refuse('The number looks like a date that lost its format. Format the cell as a date.');
  return refuse(parsed.reason === 'impossible' ? 'The calendar has no such day; the day comes first.' : undefined);
}

/** A day or month of one digit, or a year of two. */
const SHORT_DATE = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})$/;

/** The day is named with its month in words, because a computer set to another country writes the month first. */
function shortDateHint(text: string): string {
  const [, day = '', month = '', year = ''] = SHORT_DATE.exec(text) ?? [];
  const form = 'Write day and month with two digits and the year with four, the day first';
  const meant = parseFilingDate(`${day.padStart(2, '0')}/${month.padStart(2, '0')}/${year.padStart(4, '20')}`);
  return meant.ok ? `${form}: ${dayFirst(meant.date)}, if ${dayInWords(meant.date)} is meant.` : `${form}.`;
}

function timeWarning(field: string, { date, inIndia }: Extract<Filled, { kind: 'date' }>): { warning?: Problem } {
  if (inIndia === undefined) return {};
  const message = `${field} has a time of day, at which it is ${dayInWords(date)} in UTC and ${dayInWords(inIndia)} in India. ${dayFirst(date)} is filed: if that is wrong, write ${dayFirst(inIndia)}.`;
  return { warning: { code: 'time_of_day', message } };
}

function yesNoValue(field: string, content: Filled): CellValue {
  const value = content.kind === 'text' ? content.text.toUpperCase() : '';
  if (value === 'Y' || value === 'N') return { value };
  return { code: 'invalid_yes_no', message: invalidYesNo(field, shown(content)) };
}

function textValue(field: string, content: Filled): CellValue {
  const problem = textProblem(content);
  return problem === undefined
    ? { value: shown(content) }
    : { code: 'invalid_text', message: invalidText(field, shown(content), problem) };
}

/** Why a cell's text is not what was typed or is displayed, and what to do; undefined if it is. */
export function textProblem(content: Filled): string | undefined {
  switch (content.kind) {
    case 'text':
      return undefined;
    case 'number':
      if (Math.abs(content.value) >= EXACT_LIMIT)
        return 'A number cell keeps 15 digits only, the rest is lost. Format the cell as text and type the value again.';
      // What a format adds or rounds is not stored: `"EXP/"0000` shows EXP/0012 for 12, `0.00` shows 12.10 for 12.1.
      return content.shows === 'decorated' || (content.shows === 'digits' && !Number.isInteger(content.value))
        ? 'The number format of the cell makes it show something else. Format the cell as text and type what it should show.'
        : undefined;
    case 'date':
      return 'The cell turned into a date. Format it as text and type the value again.';
    case 'boolean':
      return 'The cell turned into a logical value. Format it as text and type the value again.';
    case 'unusable':
      return content.hint;
  }
}

/** The cell's displayed text. */
export function shown(content: Filled): string {
  switch (content.kind) {
    case 'text':
      return content.text;
    case 'number':
      return canonicalAmount(content.value).padStart(content.zeros, '0');
    case 'date':
      return content.date;
    default:
      return content.shown;
  }
}
