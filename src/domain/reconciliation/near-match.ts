/** Near matches between our rows and the authority's certificates: only hints for people. */
import { BANK_CHARGES, compareAmounts, subtractAmounts, isAmount } from '../money';
import { compareFilingDates, addDays, isFilingDate } from '../dates';
import { groupBy } from '../values';

/** One side of a comparison. Dates are DDMMYYYY, amounts exact decimal text. */
export interface NearSide {
  id: string;
  document: string | null;
  date: string | null;
  amount: string | null;
  currency: string | null;
}

/** More candidates than this do not help. */
const MAX_CANDIDATES = 3;

/** A document number reduced to letters and digits, so that `INV/7` and `inv-7` are the same. */
function looseDocument(text: string | null): string {
  return (text ?? '')
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/^0+(?=.)/u, '');
}

/** Builds an index over one side; the returned function queries it for an entry of the other. */
export function nearMatcher(candidates: readonly NearSide[]): (entry: NearSide) => { id: string; reasons: string[] }[] {
  const byDocument = groupBy(candidates, ({ document }) => looseDocument(document) || undefined);
  const byAmount = groupBy(candidates, (candidate) => amountKey(candidate) || undefined);
  return (entry) => {
    const found = new Map<string, { id: string; reasons: string[] }>();
    const document = looseDocument(entry.document);
    const near = [...(document ? (byDocument.get(document) ?? []) : []), ...(byAmount.get(amountKey(entry)) ?? [])];
    for (const candidate of near.slice(0, 200)) {
      if (found.has(candidate.id)) continue;
      const reasons = compare(entry, candidate);
      if (reasons) found.set(candidate.id, { id: candidate.id, reasons });
    }
    return [...found.values()].sort((a, b) => a.reasons.length - b.reasons.length).slice(0, MAX_CANDIDATES);
  };
}

/** The differences between two sides as text; null if they do not differ, or too much for a near match. */
function compare(a: NearSide, b: NearSide): string[] | null {
  const amount = amountDifference(a.amount, b.amount);
  if (amount === 'too large') return null;
  const reasons = [
    documentDifference(a.document, b.document),
    (a.currency ?? '') === (b.currency ?? '') ? null : `currency ${b.currency ?? 'unknown'}`,
    amount,
    dateDifference(a.date, b.date),
  ].filter((reason) => reason !== null);
  // With more than two differences allowed, every certificate would be near to every row.
  return reasons.length > 0 && reasons.length <= 2 ? reasons : null;
}

function documentDifference(a: string | null, b: string | null): string | null {
  if (looseDocument(a) !== looseDocument(b)) return `document ${b ?? 'unknown'}`;
  return a === b ? null : `document written ${b ?? ''}`;
}

/** @returns null if equal; `too large` if bank charges cannot explain the difference */
function amountDifference(a: string | null, b: string | null): string | null {
  if (!isAmount(a) || !isAmount(b)) return 'amount unknown';
  if (compareAmounts(a, b) === 0) return null;
  const difference = Math.abs(Number(subtractAmounts(a, b)));
  if (difference > BANK_CHARGES * Math.max(Number(a), Number(b))) return 'too large';
  return `amount off by ${difference.toFixed(2)}`;
}

function dateDifference(a: string | null, b: string | null): string | null {
  if (a === b) return null;
  if (!isFilingDate(a) || !isFilingDate(b)) return 'date unknown';
  return isNextTo(a, b) ? 'date off by a day' : `date ${b}`;
}

function isNextTo(a: string, b: string): boolean {
  return compareFilingDates(addDays(a, 1), b) === 0 || compareFilingDates(addDays(b, 1), a) === 0;
}

function amountKey({ amount, currency, date }: NearSide): string {
  return amount === null ? '' : `${Number(amount)}|${currency ?? ''}|${date ?? ''}`;
}
