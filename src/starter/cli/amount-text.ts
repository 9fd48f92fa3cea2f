import { formatAmount, type Amount } from '../../domain/money';

/** An amount with its currency, in the one form in which tables show it; null where there is none. */
export function amountText(amount: Amount | null, currency?: string | null): string | null {
  if (amount === null) return null;
  return [formatAmount(amount), currency].filter(Boolean).join(' ');
}
