/**
 * Judges an attempt of unknown outcome by certificates and balances: what proves that rows were filed, and what speaks
 * against "not filed". Pure; docs/protocol.md says why.
 */
import { type Amount, compareAmounts, subtractAmounts, sumAmounts } from '../money';
import { groupBy } from '../values';
import { type Certificate, equalityKey, isIssued, type RowFacts } from './certificate';
import { evidenceEntry, type EvidenceEntry, NO_READING } from './evidence';

/** A row that was sent and has no certificate. */
export interface SentRow extends RowFacts {
  /** The filing's name, for people. */
  filing: string;
  /** The record of its own request names a certificate for it. */
  recorded: boolean;
}

export interface KnownCertificate extends Certificate {
  /** It is of a document or bill number of the filing's reference. */
  named: boolean;
  /** No row has it, and no row's own request names it. */
  nobodys: boolean;
  /** A row has it, or is to get it, by the record of its own request. */
  byRecord: boolean;
}

/** What became of an IRM since the last balance before the attempt at which no row of ours was on its way on it. */
export interface IrmUse {
  irmKey: string;
  irmNumber: string;
  /** The available amount then and as last read; null: not known. */
  before: Amount | null;
  now: Amount | null;
  /** It was last read in a reading that began after the settle time. */
  readAfter: boolean;
  missing: boolean;
  cancelled: boolean;
  amended: boolean;
  /** Something was given back since, or it is another remittance's too. */
  rose: boolean;
  /** What is certified on it since. */
  certified: Amount;
  /** Other rows of ours that were on their way on it at the last reading: the names of their filings. */
  others: readonly string[];
}

export interface Doubt {
  /** When the first attempt of the filing's reference began, epoch ms, and the day before it, YYYY-MM-DD. */
  firstMark: number;
  firstDay: string;
  /** The last whole reading began after the settle time, and at most a settle time ago. */
  read: boolean;
  /** The attempt's rows, and every other sent row of the company, without a certificate. */
  rows: readonly SentRow[];
  others: readonly SentRow[];
  /** Those first seen since the earliest balance, or since the first mark. */
  certificates: readonly KnownCertificate[];
  irms: readonly IrmUse[];
  /** Requests of the filing, and whether their records report its rows as Errored. */
  requests: readonly { id: string; errored: boolean }[];
  /** What the service said when it refused the attempt, or named no request, which proves nothing; null: it did not. */
  refusal: string | null;
  /** Accepted requests of the exporter of about the same time, without an outcome. */
  openRequests: readonly { id: string; filing: string }[];
}

export interface Adoption {
  position: number;
  number: string;
  date: string | null;
}

export function judgeReading(doubt: Doubt): { adoptions: Adoption[]; evidence: EvidenceEntry[] } {
  return { adoptions: doubt.read ? adoptionsOf(doubt) : [], evidence: evidenceAgainst(doubt) };
}

/** Certificates that are rows', by their content and by the fall of the balance: whole IRMs at a time. */
function adoptionsOf(doubt: Doubt): Adoption[] {
  const { rows, irms } = doubt;
  const numbers = certificatesOf(doubt);
  const uses = new Map(irms.map((use) => [use.irmKey, use]));
  return [...groupBy(rows, ({ irmKey }) => irmKey)].flatMap(([irmKey, group]) => {
    const use = uses.get(irmKey);
    const found = group.map((row) => ({ row, certificate: numbers.get(row.position) }));
    if (!use || !isExplained(doubt, use, group, new Set(found.map(({ certificate }) => certificate?.number))))
      return [];
    return found.flatMap(({ row, certificate }) =>
      certificate ? { position: row.position, number: certificate.number, date: certificate.date } : [],
    );
  });
}

/**
 * The certificate of each row, by position, where as many new ones are equal to rows as rows of the company are. Equal
 * rows of two IRMs or filings cannot be told apart, because a certificate names neither.
 */
function certificatesOf({ rows, others, certificates, firstMark, firstDay }: Doubt): Map<number, KnownCertificate> {
  const isNew = (each: KnownCertificate) =>
    each.nobodys &&
    isIssued(each) &&
    each.firstSeenAt > firstMark &&
    each.issuedOn !== null &&
    each.issuedOn >= firstDay;
  const key = (of: RowFacts | Certificate) => equalityKey(of) ?? undefined;
  const found = groupBy(certificates.filter(isNew), key);
  const competing = groupBy(others, key);
  const given = new Map<number, KnownCertificate>();
  for (const [equal, group] of groupBy(rows, key)) {
    const fitting = [...(found.get(equal) ?? [])].sort((a, b) => (a.number < b.number ? -1 : 1));
    const alike = new Set(group.map(({ irmKey }) => irmKey)).size === 1 && !group.some(({ recorded }) => recorded);
    if (fitting.length !== group.length || competing.has(equal) || !alike) continue;
    for (const [index, row] of group.entries()) {
      const certificate = fitting[index];
      if (certificate) given.set(row.position, certificate);
    }
  }
  return given;
}

/**
 * Whether the IRM fell by exactly what is certified on it and these rows, and nothing else can be the reason. A
 * certificate that is equal to another sent row is that row's; one that only names its document may be of this IRM.
 */
function isExplained(
  doubt: Doubt,
  use: IrmUse,
  group: readonly SentRow[],
  numbers: ReadonlySet<string | undefined>,
): boolean {
  const { before, now, certified } = use;
  if (before === null || now === null || !use.readAfter || numbers.has(undefined)) return false;
  if (use.missing || use.cancelled || use.amended || use.rose || use.others.length > 0) return false;
  const taken = sumAmounts(group.map(({ amount }) => amount));
  if (compareAmounts(subtractAmounts(before, now), sumAmounts([certified, taken])) !== 0) return false;
  const elsewhere = [...doubt.others, ...doubt.rows.filter((row) => !group.includes(row))];
  return !doubt.certificates.some(
    (each) =>
      each.nobodys &&
      !numbers.has(each.number) &&
      (each.currency === null || group.some(({ currency }) => currency === each.currency?.trim().toUpperCase())) &&
      (each.amount === null || compareAmounts(each.amount, taken) <= 0) &&
      !elsewhere.some((row) => equalityKey(row) === equalityKey(each)),
  );
}

function evidenceAgainst(doubt: Doubt): EvidenceEntry[] {
  const { certificates, firstMark, irms, read, refusal, requests, openRequests } = doubt;
  const against = certificates.filter((each) => each.named && !each.byRecord && each.firstSeenAt >= firstMark);
  return [
    ...(read
      ? []
      : [{ name: NO_READING, text: 'The certificates could not be read whole since the settle time was over.' }]),
    ...against.map((each) => evidenceEntry('certificate', each.number, certificateText(each))),
    ...irms.flatMap(evidenceOfIrm),
    ...(refusal === null ? [] : [evidenceEntry('refusal', 'service', `The service answered: ${refusal}`)]),
    ...requests.map(({ id }) => evidenceEntry('request', id, `The filing has request ${id}.`)),
    ...requests.flatMap(({ id, errored }) =>
      errored ? evidenceEntry('request_errored', id, `Request ${id} reports rows of it as Errored.`) : [],
    ),
    ...openRequests.map(({ id, filing }) =>
      evidenceEntry(
        'request_open',
        id,
        `Request ${id} of ${filing} was accepted at about the same time and has no outcome yet.`,
      ),
    ),
  ];
}

function certificateText({ number, amount, currency, date, documentKey, status }: KnownCertificate): string {
  const parts = [`document ${documentKey || 'not told'}`, `${amount ?? 'amount not told'} ${currency ?? ''}`.trim()];
  return `Certificate ${number} agrees with a row: ${[...parts, date, status].filter(Boolean).join(', ')}.`;
}

function evidenceOfIrm(use: IrmUse): EvidenceEntry[] {
  const { irmNumber, before, now, certified, others } = use;
  const entry = (kind: Parameters<typeof evidenceEntry>[0], text: string) =>
    evidenceEntry(kind, use.irmKey, `IRM ${irmNumber} ${text}`);
  const changed = [
    ...(use.cancelled ? [entry('irm_cancelled', 'was cancelled.')] : []),
    ...(use.amended ? [entry('irm_amended', 'was amended since the attempt, so its balance tells nothing.')] : []),
  ];
  if (before === null) return [...changed, entry('irm_unread', 'has no known balance of before the attempt.')];
  if (now === null || use.missing || !use.readAfter)
    return [
      ...changed,
      entry('irm_unread', `${use.missing ? 'is no longer listed' : 'was not read since the settle time was over'}.`),
    ];
  const fell = subtractAmounts(before, now);
  const compared = compareAmounts(fell, certified);
  const rose =
    use.rose || compared < 0
      ? [entry('irm_rose', 'was given something back since the attempt, which may hide a use.')]
      : [];
  if (compared <= 0) return [...changed, ...rose];
  const text = `fell by ${fell} since the attempt, and ${certified} is certified on it`;
  const why =
    others.length > 0
      ? entry('irm_unjudged', `${text}; ${others.join(', ')} may have used it.`)
      : entry('irm_fell', `${text}.`);
  return [...changed, ...rose, why];
}
