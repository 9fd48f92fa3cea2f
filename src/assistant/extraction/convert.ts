import { filingDateFromAnything, parseFilingDate } from '../../domain/dates';
import { canonicalAmount, withoutGrouping } from '../../domain/money';
import { meansNoValue } from '../../domain/text';

/** How extracted values are read. */
export type Converter = 'text' | 'date' | 'amount' | 'currency' | 'digits' | 'code' | 'port';

/** No date, amount or currency is longer, and some of their patterns backtrack on long texts. */
const MAX_LENGTH = 200;

/**
 * - `text`: spaces at both ends are removed; a number becomes its digits.
 * - `date`: DDMMYYYY of any form that names one day, day first.
 * - `amount`: exact decimal text; currency signs and separators are removed, `1.234,50` and `1,23,456.00` are
 *   understood.
 * - `currency`: three letters of `USD`, `US$`, `US Dollar`, `₹` and the like; a bare `$` is ambiguous and not accepted.
 * - `digits`: only the digits, for example of `SB No. 4512345`.
 * - `code`: letters and digits, upper-cased.
 * - `port`: the first port code in the text, such as `INNSA1`.
 * @returns null if the value cannot be read so
 */
export function convert(value: unknown, converter: Converter): string | null {
  const text = textOf(value)?.trim();
  if (text === undefined || meansNoValue(text)) return null;
  return CONVERT[converter](text) || null;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? canonicalAmount(value) : undefined;
}

const ifShort = (read: (text: string) => string | null) => (text: string) =>
  text.length > MAX_LENGTH ? null : read(text);

const CONVERT: Record<Converter, (text: string) => string | null | undefined> = {
  text: (text) => text,
  date: ifShort(dayFirstDate),
  amount: ifShort(amountOf),
  currency: ifShort(currencyOf),
  digits: (text) => text.replace(/\D/g, ''),
  code: (text) => text.toUpperCase().replace(/[^A-Z0-9]/g, ''),
  port: (text) => /\bIN[A-Z]{3}[0-9A-Z]\b/.exec(text.toUpperCase())?.[0],
};

const PARTS = /^(\d{1,2})[./\- ](\d{1,2})[./\- ](\d{4}|\d{2})(?:[ T].*)?$/;
const NAMED = /^(\d{1,2})(?:st|nd|rd|th)?[./\- ,]+([A-Za-z]{3,9})[./\- ,]+(\d{4}|\d{2})$/;
const NAMED_FIRST = /^([A-Za-z]{3,9})[. ]+(\d{1,2})(?:st|nd|rd|th)?,? +(\d{4})$/;

function dayFirstDate(text: string): string | null {
  const [, day, month, year] = PARTS.exec(text) ?? [];
  if (day && month && year) return numericDate(day, month, year);
  return filingDateFromAnything(dayMonthYear(text) ?? text);
}

function numericDate(day: string, month: string, year: string): string | null {
  const parsed = parseFilingDate(`${day.padStart(2, '0')}/${month.padStart(2, '0')}/${fullYear(year)}`);
  return parsed.ok ? parsed.date : null;
}

/** `DD-Month-YYYY` for a date that names its month; null for any other text. */
function dayMonthYear(text: string): string | null {
  const [, day, month, year] = NAMED.exec(text) ?? [];
  if (day && month && year) return `${day.padStart(2, '0')}-${month}-${fullYear(year)}`;
  const [, monthBefore, dayAfter, yearAfter] = NAMED_FIRST.exec(text) ?? [];
  return monthBefore && dayAfter && yearAfter ? `${dayAfter.padStart(2, '0')}-${monthBefore}-${yearAfter}` : null;
}

const fullYear = (year: string): string => (year.length === 2 ? `20${year}` : year);

function amountOf(text: string): string | null {
  const plain = text.replace(/\p{Sc}|(?<![A-Za-z.])[A-Za-z.]*[A-Za-z]\.?|\/-|\s|'/gu, '');
  // Letters between digits do not join them: 1.5E3 is not 1.53, and "2 bags at 500" is not 2500.
  if (/[A-Za-z]/.test(/\d.*\d/s.exec(text)?.[0] ?? '')) return null;
  const negative = /^\(.*\)$|^-|-$/.test(plain);
  const digits = plain.replace(/[()-]/g, '');
  // The last separator is the decimal sign if both kinds occur, or if one occurs once with one or two digits after it.
  const european = /^\d{1,3}(\.\d{3})*,\d{1,2}$/.test(digits) || /^\d+,\d{1,2}$/.test(digits);
  const normal = european ? digits.replaceAll('.', '').replace(',', '.') : withoutGrouping(digits);
  const thousands = /^\d{1,3}(\.\d{3}){2,}$/.test(normal) ? normal.replaceAll('.', '') : normal;
  if (negative || !/^\d+(\.\d+)?$|^\.\d+$/.test(thousands)) return null;
  return canonicalAmount(thousands);
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
const CURRENCY_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bUS\s?\$|\bUS DOLLARS?|U\.S\. DOLLARS?|UNITED STATES DOLLARS?/, 'USD'],
  [/€|EUROS?\b/, 'EUR'],
  [/£|POUNDS?( STERLING)?/, 'GBP'],
  [/₹|\bRS\.?(?![A-Z])|RUPEES?|\bINR\b/, 'INR'],
  [/¥|\bYEN\b/, 'JPY'],
  [/DIRHAMS?/, 'AED'],
];

function currencyOf(text: string): string | null {
  const upper = text.toUpperCase();
  const [code] = /\b[A-Z]{3}\b/.exec(upper) ?? [];
  if (code && CURRENCIES.has(code) && upper.replace(/[^A-Z]/g, '') === code) return code;
  return CURRENCY_WORDS.find(([pattern]) => pattern.test(upper))?.[1] ?? null;
}
