/** Decimal arithmetic, because binary floats could make a balance check wrong by a paisa. Results are decimal text. */
import { Decimal } from 'decimal.js';

/** A JSON number as the service sends it, or exact decimal text. */
export type Amount = number | string;

/** 40 digits: sums of 999 amounts of the annexure's (16,2) need 19, and decimal.js rounds at 20 by default. */
const Money = Decimal.clone({ precision: 40, rounding: Decimal.ROUND_HALF_UP });

const AMOUNT_TEXT = /^-?(?:\d+(?:\.\d*)?|\.\d+)$/;

/** Whether a value is a finite number, or text of digits with an optional sign and decimal point. */
export function isAmount(value: unknown): value is Amount {
  return typeof value === 'number' ? Number.isFinite(value) : typeof value === 'string' && AMOUNT_TEXT.test(value);
}

/** Amounts with Indian or Western thousands separators. A comma before one or two digits may be a decimal point. */
const GROUPED = /^\d{1,3}(?:[\s,'_]\d{2,3})*[\s,'_]\d{3}(?:\.\d*)?$/;

/** Removes thousands separators from an amount; other text is unchanged. */
export function withoutGrouping(text: string): string {
  return GROUPED.test(text) ? text.replace(/[\s,'_]/g, '') : text;
}

/** No currency has more than four decimals, and a double keeps 15 digits. From `EXACT_BELOW` on, paise need more. */
const DECIMALS = 6;
const DIGITS = 15;
const EXACT_BELOW = 1e13;

/**
 * Removes the error of binary sums. 100.49999999999999 instead of 100.5 would delay a filing, match no certificate, or
 * let the mapping pass beside itself as another one.
 */
export const withoutNoise = (value: number): number =>
  Math.abs(value) < EXACT_BELOW ? Number(Number(value.toFixed(DECIMALS)).toPrecision(DIGITS)) + 0 : value;

/** Whether a number holds the value of a text, as far as {@link withoutNoise} keeps it. */
export function isSameButNoise(text: string, value: number): boolean {
  return new Money(text).toDecimalPlaces(DECIMALS).equals(withoutNoise(value));
}

/** The exact sum; `0` of nothing. @throws Error (decimal.js) for text that is no number. */
export function sumAmounts(amounts: Iterable<Amount>): string {
  let sum = new Money(0);
  for (const amount of amounts) sum = sum.plus(amount);
  return sum.toFixed();
}

export function subtractAmounts(a: Amount, b: Amount): string {
  return new Money(a).minus(b).toFixed();
}

/** -1 when `a` is smaller, 1 when larger, 0 when equal: `10` and `10.00` are equal. */
export function compareAmounts(a: Amount, b: Amount): number {
  // Two numbers compare exactly; only text needs a decimal.
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  return new Money(a).comparedTo(b);
}

/** The same text for every spelling of a value: `10`, `10.0` and `010.00` all give `10`. */
export function canonicalAmount(amount: Amount): string {
  return new Money(amount).toFixed();
}

/** Formats an amount for people, with at least two decimals, no grouping and no rounding: `10.00`, `0.125`. */
export function formatAmount(amount: Amount): string {
  const value = new Money(amount);
  return value.toFixed(Math.max(2, value.decimalPlaces()));
}

/** {@link formatAmount} with the currency, if it is known. */
export function amountText(amount: Amount, currency?: string | null): string;
export function amountText(amount: Amount | null, currency?: string | null): string | null;
export function amountText(amount: Amount | null, currency?: string | null): string | null {
  return amount === null ? null : [formatAmount(amount), currency].filter(Boolean).join(' ');
}

/** Currencies that do not have two decimals (ISO 4217). */
export const THREE_DECIMALS: ReadonlySet<string> = new Set('BHD IQD JOD KWD LYD OMR TND'.split(' '));
const NO_DECIMALS: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '),
);

/** The annexure's scale, which the authority has for every currency. */
const FILED_DECIMALS = 2;

export function decimalsOf(currency = ''): number {
  const code = currency.trim().toUpperCase();
  return THREE_DECIMALS.has(code) ? 3 : NO_DECIMALS.has(code) ? 0 : 2;
}

/** Whether an amount fits the annexure's scale, and the currency's if it has fewer decimals, without rounding. */
export function isFilable(amount: Amount, currency?: string): boolean {
  const decimals = Math.min(FILED_DECIMALS, decimalsOf(currency));
  // Fast path for nearly every amount: no decimal is constructed.
  if (decimals === FILED_DECIMALS && /^\d+(\.\d{1,2})?$/.test(String(amount))) return true;
  return new Money(amount).decimalPlaces() <= decimals;
}

/** An amount with as many decimals as can be filed, rounded down, because more than the remittance is refused. */
export function roundedDown(amount: Amount, currency?: string): string {
  const decimals = Math.min(FILED_DECIMALS, decimalsOf(currency));
  return new Money(amount).toDecimalPlaces(decimals, Decimal.ROUND_DOWN).toFixed(decimals);
}

/** How far two figures of one amount lie apart if one was rounded from the bank's three decimals; otherwise nothing. */
const toleranceOf = (currency: string | undefined): string => (decimalsOf(currency) > FILED_DECIMALS ? '0.005' : '0');

/** Whether `a` is more than `b` by more than rounding explains. */
export function isMore(a: Amount, b: Amount, currency?: string): boolean {
  return compareAmounts(a, b) > 0 && compareAmounts(subtractAmounts(a, b), toleranceOf(currency)) > 0;
}

/** Whether two figures are one amount, of which one may be rounded, or rounded down as {@link roundedDown} says. */
export function isSameAmount(a: Amount, b: Amount, currency?: string): boolean {
  if (compareAmounts(a, b) === 0) return true;
  if (toleranceOf(currency) === '0') return false;
  const isDown = (one: Amount, other: Amount) => compareAmounts(one, roundedDown(other, currency)) === 0;
  return (!isMore(a, b, currency) && !isMore(b, a, currency)) || isDown(a, b) || isDown(b, a);
}

/** Whether an amount has no more decimals than its currency, so that no two amounts are one after rounding. */
export function fitsCurrency(amount: Amount, currency: string): boolean {
  // Fast path for nearly every amount: no decimal is constructed.
  if (/^\d+$/.test(String(amount))) return true;
  return new Money(amount).decimalPlaces() <= decimalsOf(currency);
}

/** The share that banks may deduct as charges: amounts that differ by no more may be the same payment. */
export const BANK_CHARGES = 0.02;
