import { comparableText, irmIdentity } from '../identity';
import type { StoredAnswer } from './attempt';

/** What of a row that was sent, and of an entry of `irms`, is compared; anything may stand in the latter. */
type ComparedRow = Partial<Record<'irmNumber' | 'irmAdCode' | 'sbCumInvoiceNumber', unknown>>;

/**
 * Compares the rows that the service reports to have read with those that were sent, by `irms` and never by
 * `irmNumbers` (spec: "POST /genebrc/bulk-upload"). Null when they agree or the answer holds none.
 */
export function uploadMismatch(sent: readonly ComparedRow[], answer: StoredAnswer): string | null {
  const differences: string[] = [];
  const read = answer.parsedRowCount;
  if (typeof read === 'number' && read !== sent.length)
    differences.push(`the service read ${read} rows, ${sent.length} were sent`);
  const accepted = answer.recordResCount;
  if (typeof accepted === 'number' && accepted !== sent.length) {
    differences.push(`the acknowledgement counts ${accepted} records, ${sent.length} were sent`);
  }
  if (answer.irms && answer.irms.length > 0) {
    const ours = new Map<string, number>();
    for (const row of sent) count(ours, keyOf(row), 1);
    for (const entry of answer.irms) count(ours, keyOf(entry as ComparedRow), -1);
    const off = [...ours].filter(([, balance]) => balance !== 0);
    if (off.length > 0)
      differences.push(`${off.length} of the IRM-to-document rows it read are not the ones that were sent`);
  }
  return differences.length > 0 ? differences.join('; ') : null;
}

function count(balances: Map<string, number>, key: string, by: number): void {
  balances.set(key, (balances.get(key) ?? 0) + by);
}

function keyOf({ irmNumber, irmAdCode, sbCumInvoiceNumber }: ComparedRow): string {
  const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
  const irm = irmIdentity({ irmNumber: text(irmNumber), irmAdCode: text(irmAdCode) });
  return `${irm} ${comparableText(text(sbCumInvoiceNumber))}`;
}
