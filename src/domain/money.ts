/** Amounts are decimals: as binary floats a balance check could be wrong by a paisa. Results are decimal text. */
import { Decimal } from 'decimal.js';

/** An amount as the wire has it (a JSON number) or as exact decimal text. */
export type Amount = number | string;

/** 40 digits: 999 amounts of the annexure's (16,2) need 19, and decimal.js would otherwise round sums at 20. */
const Money = Decimal.clone({ precision: 40, rounding: Decimal.ROUND_HALF_UP });

const AMOUNT_TEXT = /^-?(?:\d+(?:\.\d*)?|\.\d+)$/;

/** Whether a value is a finite number, or text of digits with an optional sign and decimal point. */
export function isAmount(value: unknown): value is Amount {
  return typeof value === 'number' ? Number.isFinite(value) : typeof value === 'string' && AMOUNT_TEXT.test(value);
}

/** Separators of thousands, Indian or Western. A comma before fewer digits may be a decimal point. */
const GROUPED = /^\d{1,3}(?:[\s,'_]\d{2,3})*[\s,'_]\d{3}(?:\.\d*)?$/;

/** What to write instead of an amount with separators of thousands; other text is unchanged. */
export function withoutGrouping(text: string): string {
  return GROUPED.test(text) ? text.replace(/[\s,'_]/g, '') : text;
}

/** The exact sum; `0` of nothing. @throws Error (decimal.js) for text that is no number. */
export function sumAmounts(amounts: Iterable<Amount>): string {
  let sum = new Money(0);
  for (const amount of amounts) sum = sum.plus(amount);
  return sum.toFixed();
}

/** `a - b`, exact. */
export function subtractAmounts(a: Amount, b: Amount): string {
  return new Money(a).minus(b).toFixed();
}

/** -1 when `a` is smaller, 1 when larger, 0 when equal: `10` and `10.00` are equal. */
export function compareAmounts(a: Amount, b: Amount): number {
  // Two numbers compare exactly as they are; only text needs a decimal.
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  return new Money(a).comparedTo(b);
}

/** One text per value, for any spelling: `10`, `10.0` and `010.00` all give `10`. */
export function canonicalAmount(amount: Amount): string {
  return new Money(amount).toFixed();
}

/** For people: at least two decimals, no grouping, no rounding: `10` gives `10.00`, `0.125` stays. */
export function formatAmount(amount: Amount): string {
  const value = new Money(amount);
  return value.toFixed(Math.max(2, value.decimalPlaces()));
}

/** An amount for people, with its currency where it is known. */
export function amountText(amount: Amount, currency?: string | null): string;
export function amountText(amount: Amount | null, currency?: string | null): string | null;
export function amountText(amount: Amount | null, currency?: string | null): string | null {
  return amount === null ? null : [formatAmount(amount), currency].filter(Boolean).join(' ');
}

/** Whether nothing is lost by writing the amount with two decimals, the annexure's scale. */
export function atMostTwoDecimals(amount: Amount): boolean {
  // Fast path for nearly every amount: no decimal is constructed.
  if (/^\d+(\.\d{1,2})?$/.test(String(amount))) return true;
  return new Money(amount).decimalPlaces() <= 2;
}

/** The share that bank charges may take: an amount that is short by no more may be the same payment. */
export const BANK_CHARGES = 0.02;
