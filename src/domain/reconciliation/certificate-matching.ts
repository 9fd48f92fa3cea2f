/**
 * Matches fetch-details certificates to rows: exactly as many certificates as rows must agree in document, date, amount
 * and currency. Bill numbers may distinguish equal ones; ambiguous ones are reported.
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
  /** Left out if the entry does not come from fetch-details. */
  eBRCStatus?: string | null;
}

/** A row without a certificate. `mine`: the row is to be matched; other rows only compete for certificates. */
export interface OpenRow extends Pick<Mapping, 'sbCumInvoiceNumber' | 'sbCumInvoiceDate' | 'billNo'> {
  filingId: string;
  position: number;
  mine: boolean;
  /** Exact decimal text from the ledger. */
  mappedIRMAmountFCC: number | string;
  /** The currencies of the mapped amount and of the document. */
  currency: string;
  documentCurrency?: string | null;
  /** The IRM in comparable form. Certificates do not name it, so equal rows of two IRMs are not interchangeable. */
  irmKey?: string;
}

export interface Ambiguity {
  positions: number[];
  candidates: string[];
  /** Other filings with rows that the same certificates would fit. */
  competingFilings: string[];
}

export interface MatchResult {
  matches: { position: number; eBRCNumber: string; eBRCDate: string | null }[];
  ambiguous: Ambiguity[];
  /** Positions of `mine` rows that no certificate fits. */
  unmatched: number[];
}

export interface MatchRules {
  /** Numbers that already belong to a row, or were seen before the send; never matched. */
  excluded: ReadonlySet<string>;
  /** Certificates that were issued earlier are not from this submission. */
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
    for (const part of byBill(group, [...(candidates.get(key)?.values() ?? [])])) judgeGroup(part, result);
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

/** Whether the certificate's status is Issued (spec: "eBRCStatus"); a cancelled one certifies nothing. */
const isIssued = ({ eBRCStatus }: CertificateEntry): boolean =>
  eBRCStatus === undefined || comparableText(eBRCStatus ?? '') === 'ISSUED';

/** Reports certificates in the document's currency, if not the IRM's, as ambiguous: a person has to decide. */
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

/** Splits a group by bill number, if all its rows and certificates have one: one without could belong to any row. */
function byBill(rows: OpenRow[], found: CertificateEntry[]) {
  if (rows.length <= 1 && found.length <= 1) return [{ rows, found }];
  const bill = ({ billNo }: { billNo: string | null }) => comparableText(billNo ?? '');
  if (found.length === 0 || [...rows, ...found].some((item) => bill(item) === '')) return [{ rows, found }];
  const bills = new Set(rows.map(bill));
  // If no bill number agrees, the service writes them differently, and they cannot distinguish rows.
  if (!found.some((entry) => bills.has(bill(entry)))) return [{ rows, found }];
  return [...bills].map((one) => ({
    rows: rows.filter((row) => bill(row) === one),
    found: found.filter((entry) => bill(entry) === one),
  }));
}

/** Whether both have a bill number and they differ: the certificate may be from somebody else's filing. */
function billsDiffer(row: OpenRow, certificate: CertificateEntry): boolean {
  const [ours, theirs] = [comparableText(row.billNo), comparableText(certificate.billNo ?? '')];
  return ours !== '' && theirs !== '' && ours !== theirs;
}

/** Whether the rows are interchangeable, and so are the certificates. */
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
    result.unmatched.push(...mine.map(({ position }) => position));
  } else if (rows.length === found.length && areEqual(rows, found) && !billsDiffer(row, certificate)) {
    // As many certificates as equal rows: each row gets one, in the order of sending; it does not matter which.
    const inOrder = [...found].sort((a, b) => (a.eBRCNumber < b.eBRCNumber ? -1 : 1));
    for (const [index, each] of rows.entries()) {
      const given = inOrder[index];
      if (!each.mine || !given) continue;
      result.matches.push({ position: each.position, eBRCNumber: given.eBRCNumber, eBRCDate: given.eBRCDate });
    }
  } else {
    result.ambiguous.push({
      positions: mine.map(({ position }) => position),
      candidates: found.map((entry) => entry.eBRCNumber),
      competingFilings: [...new Set(rows.flatMap(({ mine: own, filingId }) => (own ? [] : [filingId])))],
    });
  }
}
