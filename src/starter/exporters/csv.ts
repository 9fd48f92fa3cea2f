import { harmless } from '../../domain/text';

/**
 * Records of one shape as CSV with a header line. A value that a spreadsheet would run as a formula gets a quote in
 * front, because names and messages come from outside and a person opens the file.
 */
export function csvOf<T extends object>(records: readonly T[]): string {
  const columns = Object.keys(records[0] ?? {}) as (keyof T & string)[];
  const lines = records.map((record) => columns.map((column) => cell(record[column])).join(','));
  return [columns.join(','), ...lines].join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = harmless(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
