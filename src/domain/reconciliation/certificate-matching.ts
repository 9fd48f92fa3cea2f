/**
 * Matches certificates to rows by fetch-details: exactly as many certificates as rows agree in document, date, amount
 * and currency. Equal ones may be told apart by bill numbers; what is ambiguous is reported.
 */
import { compareFilingDates, filingDateFromAnything, type FilingDate } from '../dates';
import type { Mapping } from '../filing/mapping';
import { certificateIdentity, comparableText } from '../identity';

export interface CertificateEntry {
  eBRCNumber: string;
  eBRCDate: string | null;
  sbCumInvoiceNumber: string | null;
  sbCumInvoiceDate: string | null;
  realisedValueFCC: number | string | null;
  currencyCode: string | null;
  billNo: string | null;
  /** Left out: not read from fetch-details. */
  eBRCStatus?: string | null;
}

/** A row without a certificate. `mine`: it is to be matched; other rows only compete for the certificate. */
export interface OpenRow extends Pick<Mapping, 'sbCumInvoiceNumber' | 'sbCumInvoiceDate' | 'billNo'> {
  filingId: string;
  position: number;
  mine: boolean;
  /** Exact decimal text from the ledger. */
  mappedIRMAmountFCC: number | string;
  /** The currencies of the mapped amount and of the document. */
  currency: string;
  documentCurrency?: string | null;
  /** The IRM in comparable form: certificates do not name it, so equal rows of two IRMs are not interchangeable. */
  irmKey?: string;
}

export interface Ambiguity {
  positions: number[];
  candidates: string[];
  /** Rows of other filings that the same certificates would fit. */
  competingFilings: string[];
}

export interface MatchResult {
  matches: { position: number; eBRCNumber: string; eBRCDate: string | null }[];
  ambiguous: Ambiguity[];
  /** Positions of own rows that no certificate fits. */
  unmatched: number[];
}

export interface MatchRules {
  /** Numbers that already belong to a row, or were seen before the send: never adopted. */
  excluded: ReadonlySet<string>;
  /** Certificates with an earlier date are not from this submission. */
  issuedFrom: FilingDate;
}

function identityOf(
  args: Pick<CertificateEntry, 'sbCumInvoiceNumber' | 'sbCumInvoiceDate'>,
  amount: number | string | null,
  currency: string | null,
): string | null {
  const { sbCumInvoiceNumber: document, sbCumInvoiceDate: date } = args;
  return certificateIdentity({ document, date, amount, currency });
}

/** Matches certificates to rows with positive evidence only. */
export function matchCertificates(
  rows: readonly OpenRow[],
  entries: readonly CertificateEntry[],
  rules: MatchRules,
): MatchResult {
  const candidates = candidatesByIdentity(entries, rules);
  const groups = new Map<string, OpenRow[]>();
  const result: MatchResult = { matches: [], ambiguous: [], unmatched: [] };
  for (const row of rows) {
    const key = identityOf(row, row.mappedIRMAmountFCC, row.currency);
    if (key) groups.set(key, [...(groups.get(key) ?? []), row]);
    else if (row.mine) result.unmatched.push(row.position);
  }
  for (const [key, group] of groups) {
    for (const each of byBill(group, [...(candidates.get(key)?.values() ?? [])])) judgeGroup(each, result);
  }
  reportDocumentCurrency(rows, entries, rules, result);
  return result;
}

function candidatesByIdentity(entries: readonly CertificateEntry[], { excluded, issuedFrom }: MatchRules) {
  const candidates = new Map<string, Map<string, CertificateEntry>>();
  for (const entry of entries) {
    const key = identityOf(entry, entry.realisedValueFCC, entry.currencyCode);
    const issued = filingDateFromAnything(entry.eBRCDate);
    if (!key || !issued || !isIssued(entry)) continue;
    if (excluded.has(entry.eBRCNumber) || compareFilingDates(issued, issuedFrom) < 0) continue;
    const sameKey = candidates.get(key) ?? new Map<string, CertificateEntry>();
    candidates.set(key, sameKey.set(entry.eBRCNumber, entry));
  }
  return candidates;
}

/** Whether the authority calls the certificate Issued (spec: "eBRCStatus"): a cancelled one certifies nothing. */
const isIssued = ({ eBRCStatus }: CertificateEntry): boolean =>
  eBRCStatus === undefined || comparableText(eBRCStatus ?? '') === 'ISSUED';

/** Certificates in the document's currency, where that is not the IRM's: a person says whether they are the row's. */
function reportDocumentCurrency(
  rows: readonly OpenRow[],
  entries: readonly CertificateEntry[],
  { excluded, issuedFrom }: MatchRules,
  result: MatchResult,
): void {
  const matched = new Set(result.matches.map(({ position }) => position));
  for (const row of rows) {
    const currency = comparableText(row.documentCurrency ?? '');
    if (!row.mine || matched.has(row.position) || currency === '' || currency === comparableText(row.currency))
      continue;
    const candidates = entries.filter((entry) => {
      const issued = filingDateFromAnything(entry.eBRCDate);
      return (
        comparableText(entry.currencyCode ?? '') === currency &&
        comparableText(entry.sbCumInvoiceNumber ?? '') === comparableText(row.sbCumInvoiceNumber) &&
        !excluded.has(entry.eBRCNumber) &&
        (issued === null || compareFilingDates(issued, issuedFrom) >= 0)
      );
    });
    if (candidates.length === 0) continue;
    const found = { positions: [row.position], candidates: candidates.map(({ eBRCNumber }) => eBRCNumber) };
    result.ambiguous.push({ ...found, competingFilings: [] });
  }
}

/** Tells rows apart that agree otherwise, if all rows and certificates name a bill: one without could be any row's. */
function byBill(rows: OpenRow[], found: CertificateEntry[]) {
  if (rows.length <= 1 && found.length <= 1) return [{ rows, found }];
  const bill = (each: { billNo: string | null }) => comparableText(each.billNo ?? '');
  if (found.length === 0 || [...rows, ...found].some((each) => bill(each) === '')) return [{ rows, found }];
  const bills = new Set(rows.map(bill));
  // No bill number agrees, so the service writes them differently and they cannot distinguish rows.
  if (!found.some((entry) => bills.has(bill(entry)))) return [{ rows, found }];
  return [...bills].map((one) => ({
    rows: rows.filter((row) => bill(row) === one),
    found: found.filter((entry) => bill(entry) === one),
  }));
}

/** Whether both name a bill number and they differ: the certificate may be another's filing of the document. */
function billsDiffer(row: OpenRow, certificate: CertificateEntry): boolean {
  const [ours, theirs] = [comparableText(row.billNo), comparableText(certificate.billNo ?? '')];
  return ours !== '' && theirs !== '' && ours !== theirs;
}

/** Whether rows, and certificates, cannot be told from one another. */
function areEqual(rows: readonly OpenRow[], found: readonly CertificateEntry[]): boolean {
  const kinds = new Set(rows.map(({ billNo, irmKey }) => `${comparableText(billNo)} ${irmKey ?? ''}`));
  return kinds.size === 1 && new Set(found.map(({ billNo }) => comparableText(billNo ?? ''))).size === 1;
}

function judgeGroup({ rows, found }: { rows: OpenRow[]; found: CertificateEntry[] }, result: MatchResult): void {
  const mine = rows.filter((row) => row.mine);
  const [row] = mine;
  const [certificate] = found;
  if (!row) return;
  if (!certificate) {
    result.unmatched.push(...mine.map((each) => each.position));
  } else if (rows.length === found.length && areEqual(rows, found) && !billsDiffer(row, certificate)) {
    // As many as there are rows: each gets one, in the order in which they were sent. It does not matter which.
    const inOrder = [...found].sort((a, b) => (a.eBRCNumber < b.eBRCNumber ? -1 : 1));
    for (const [index, each] of rows.entries()) {
      const given = inOrder[index];
      if (!each.mine || !given) continue;
      result.matches.push({ position: each.position, eBRCNumber: given.eBRCNumber, eBRCDate: given.eBRCDate });
    }
  } else {
    result.ambiguous.push({
      positions: mine.map((each) => each.position),
      candidates: found.map((entry) => entry.eBRCNumber),
      competingFilings: [...new Set(rows.filter((each) => !each.mine).map((each) => each.filingId))],
    });
  }
}
