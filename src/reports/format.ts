import { KOLKATA_OFFSET_MS } from '../domain/dates';
import { printable } from '../domain/text';
import type { Value, ValueKind } from './report';

/** Digit grouping: 1,234,567 or 12,34,567. */
export type Grouping = 'western' | 'indian';

const LOCALES: Readonly<Record<Grouping, string>> = { western: 'en-US', indian: 'en-IN' };

/** A value as a person reads it; empty for none. Money keeps every digit it has, and at least two decimals. */
export function formatValue(value: Value, kind: ValueKind, grouping: Grouping): string {
  if (value === null || value === '') return '';
  // In Indian time.
  if (value instanceof Date)
    return new Date(value.getTime() + KOLKATA_OFFSET_MS).toISOString().slice(0, 16).replace('T', ' ');
  const decimals = (minimumFractionDigits: number, maximumFractionDigits: number) =>
    new Intl.NumberFormat(LOCALES[grouping], { minimumFractionDigits, maximumFractionDigits });
  switch (kind) {
    case 'money':
      // A string is formatted as an exact decimal number; as a float it would lose digits.
      return decimals(2, 20).format(value as Intl.StringNumericLiteral);
    case 'count':
      return decimals(0, 0).format(Number(value));
    case 'share':
      return `${decimals(0, 1).format(Number(value) * 100)} %`;
    case 'hours':
      if (Math.abs(Number(value)) < 1) return `${decimals(0, 0).format(Number(value) * 60)} min`;
      return `${decimals(0, 1).format(Number(value))} h`;
    case 'days':
      return `${decimals(0, 1).format(Number(value))} d`;
    default:
      return printable(String(value));
  }
}

/** A number on an axis: 12K, or 12T as India abbreviates it. */
export function formatShort(value: number, grouping: Grouping): string {
  return new Intl.NumberFormat(LOCALES[grouping], { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}
