import { comparableDate, comparableText, irmIdentity } from '../identity';
import { listed } from '../rules/value-messages';
import type { StoredAnswer } from './attempt';

/** What is compared of a sent row and of an entry of `irms`, whose values may have any type. */
type ComparedRow = Partial<
  Record<'serialNo' | 'irmNumber' | 'irmDt' | 'irmAdCode' | 'irmIfscCode' | 'sbCumInvoiceNumber', unknown>
>;

/** Compares the rows that the service read (by `irms`, never `irmNumbers`) with those sent. Null if they agree. */
export function uploadMismatch(sent: readonly ComparedRow[], answer: StoredAnswer): string | null {
  const differences: string[] = [];
  const failed = answer.ackStatus?.trim().toLowerCase() === 'failed';
  const differs = (count: unknown): count is number =>
    typeof count === 'number' && count !== sent.length && !(failed && count === 0);
  const { parsedRowCount: read, recordResCount: accepted } = answer;
  if (differs(read)) differences.push(`the service read ${read} rows, ${sent.length} were sent`);
  if (differs(accepted)) differences.push(`the acknowledgement counts ${accepted} records, ${sent.length} were sent`);
  if (answer.irms && answer.irms.length > 0) differences.push(...rowDifferences(sent, answer.irms as ComparedRow[]));
  return differences.length > 0 ? differences.join('; ') : null;
}

function rowDifferences(sent: readonly ComparedRow[], read: readonly ComparedRow[]): string[] {
  const ours = new Map<string, number>();
  for (const row of sent) count(ours, keyOf(row), 1);
  for (const entry of read) count(ours, keyOf(entry), -1);
  const off = [...ours].filter(([, balance]) => balance !== 0);
  if (off.length > 0) return [`${off.length} of the IRM-to-document rows it read are not the ones that were sent`];
  // `irms` is in file order (spec: "POST /genebrc/bulk-upload"), so rows correspond by position.
  const inPlace = sent.map((row, place) => keyOf(row) === keyOf(read[place] ?? {}));
  const moved = sent.filter((_row, place) => !inPlace[place]);
  const order = moved.length === 0 ? [] : [`it read ${serials(moved)} in another order`];
  const values = COMPARED_VALUES.flatMap(([field, comparable]) => {
    const differing = sent.filter((row, place) => {
      const value = textOf(read[place]?.[field]);
      return inPlace[place] && value !== '' && comparable(value) !== comparable(textOf(row[field]));
    });
    return differing.length === 0 ? [] : [`it read another ${field} in ${serials(differing)}`];
  });
  return [...order, ...values];
}

/** Fields that are compared by position, if the answer has them. */
const COMPARED_VALUES = [
  ['serialNo', comparableText],
  ['irmDt', comparableDate],
  ['irmIfscCode', comparableText],
] as const;

const serials = (rows: readonly ComparedRow[]): string =>
  `serialNo ${listed(rows.map(({ serialNo }) => textOf(serialNo)))}`;

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

function count(balances: Map<string, number>, key: string, by: number): void {
  balances.set(key, (balances.get(key) ?? 0) + by);
}

function keyOf({ irmNumber, irmAdCode, sbCumInvoiceNumber }: ComparedRow): string {
  const irm = irmIdentity({ irmNumber: textOf(irmNumber), irmAdCode: textOf(irmAdCode) });
  return `${irm} ${comparableText(textOf(sbCumInvoiceNumber))}`;
}
