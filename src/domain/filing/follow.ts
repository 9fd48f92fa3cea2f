/** Judges the status record of a request: which entry is which row's, by content first. Pure. */
import { billKey, comparableText, documentKey, irmKey, readIec } from '../identity';
import { compareAmounts, isSameAmount } from '../money';
import {
  errorTexts,
  isDone,
  isErrored,
  isProcessed,
  type StatusEntry,
  type StatusRecord,
} from '../service/request-status';
import { groupBy } from '../values';
import { type Certificate, contradiction, dayOf, type RowFacts } from './certificate';
import { speaksOfDuplicate } from './evidence';

/** A row of the filing. Its serial number is its position + 1. */
export interface FollowedRow extends RowFacts {
  /** Both dates of its IRM (YYYY-MM-DD), of which an entry may give either; null: not both are known. */
  irmDates: readonly string[] | null;
  /** The certificate's number that it has, or that its record named before. */
  number: string | null;
}

/** What a record says of a row. */
export type RowReport =
  | { outcome: 'processed'; number: string; date: string | null }
  | { outcome: 'errored'; errors: string[]; duplicate: boolean };

export interface RecordJudgement {
  /** By position; rows without a report have no outcome yet. */
  reports: ReadonlyMap<number, RowReport>;
  /** The authority is done, and the record has an outcome for every row. */
  complete: boolean;
  /** Every entry is a row's and the counts contradict none: Errored entries may free their rows. */
  clean: boolean;
  /** The authority is done and reports a failure of the whole, without a list: it proves nothing. */
  erroredEmpty: boolean;
  /** What fits no row or contradicts itself, for people. */
  problems: string[];
  /** Other IECs that entries name. */
  otherIecs: string[];
}

export interface RecordContext {
  iec: string | null;
  /** Certificates with details, by {@link numberKey}. */
  certificates: ReadonlyMap<string, Certificate>;
  /** Only entries that name IRM and document count: a person named the request, which may be another filing's. */
  namedByPerson?: boolean;
}

/** A certificate's number in the form in which numbers are compared. */
export const numberKey = (number: string): string => number.trim().toUpperCase();

export function judgeRecord(
  rows: readonly FollowedRow[],
  record: StatusRecord,
  context: RecordContext,
): RecordJudgement {
  const entries = withoutRepeats(record.ebrcBulkGenStatusLst).filter(
    (entry) => !context.namedByPerson || (entry.irmNumber !== null && entry.sbCumInvoiceNumber !== null),
  );
  const facts = entries.map(entryFacts);
  const assigned = assign(rows, facts, record, context);
  const repeated = repeatedNumbers(assigned.values());
  const problems = assigned.strays.map((entry) => `an entry fits no row: ${named(entry)}`);
  const reports = new Map<number, RowReport>();
  for (const [position, entry] of assigned) {
    const report = reportOf(entry, record);
    if (report === 'contradictory') problems.push(`an entry is Errored and has a certificate: ${named(entry)}`);
    else if (report?.outcome === 'processed' && repeated.has(numberKey(report.number))) continue;
    else if (report !== null) reports.set(position, report);
  }
  for (const number of repeated) problems.push(`certificate ${number} is reported for two rows`);
  const unread = (record.unreadEntries ?? 0) > 0;
  const everyEntry =
    assigned.size === entries.length && entries.every((entry) => isProcessed(entry) || isErrored(entry));
  return {
    reports,
    complete: isDone(record) && rows.every(({ position }) => reports.has(position)),
    clean: everyEntry && !unread && problems.length === 0 && countsAgree(record, reports),
    erroredEmpty: isErrored(record) && record.ebrcBulkGenStatusLst.length === 0 && !unread,
    problems,
    otherIecs: [...new Set(facts.map(({ iec }) => iec).filter((iec) => iec !== null))].filter(
      (iec) => context.iec !== null && iec !== context.iec,
    ),
  };
}

/** The same entry twice is one, if it says which row it is of. */
function withoutRepeats(entries: readonly StatusEntry[]): StatusEntry[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    if (entry.serialNo === null) return true;
    const text = JSON.stringify(Object.entries(entry).sort(([one], [other]) => (one < other ? -1 : 1)));
    return !seen.has(text) && seen.add(text);
  });
}

/** What an entry tells, in comparable form; empty or null: nothing. */
interface EntryFacts {
  entry: StatusEntry;
  irmKey: string;
  irmOn: string | null;
  documentKey: string;
  documentOn: string | null;
  billKey: string;
  /** 0 is taken for none. */
  amount: number;
  currency: string;
  iec: string | null;
}

const entryFacts = (entry: StatusEntry): EntryFacts => ({
  entry,
  irmKey: irmKey(entry.irmNumber ?? ''),
  irmOn: dayOf(entry.irmDt),
  documentKey: documentKey(entry.sbCumInvoiceNumber),
  documentOn: dayOf(entry.sbCumInvoiceDate),
  billKey: billKey(entry.billNo ?? null),
  amount: entry.fobFCC ?? 0,
  currency: comparableText(entry.fcc ?? ''),
  iec: readIec(entry.iecNumber),
});

/** The entry of each row, by position. `strays` fit none; what fits several rows that differ is in neither. */
class Assigned extends Map<number, StatusEntry> {
  readonly strays: StatusEntry[] = [];
}

function assign(
  rows: readonly FollowedRow[],
  entries: readonly EntryFacts[],
  record: StatusRecord,
  context: RecordContext,
): Assigned {
  const assigned = new Assigned();
  const bySerial = record.unreadEntries ? null : serialsOf(rows, entries, context);
  if (bySerial) {
    for (const [row, entry] of bySerial) assigned.set(row.position, entry);
    return assigned;
  }
  const fitting = new Map<string, { rows: FollowedRow[]; entries: StatusEntry[] }>();
  for (const facts of entries) {
    const { entry } = facts;
    const candidates = candidatesOf(rows, facts, context);
    if (candidates.length === 0) assigned.strays.push(entry);
    const kinds = groupBy(candidates, kindOf);
    const [kind, same] = [...kinds][0] ?? [];
    // What fits rows that differ is left to the certificates' details.
    if (kind === undefined || same === undefined || kinds.size > 1) continue;
    const group = fitting.get(kind) ?? { rows: same, entries: [] };
    group.entries.push(entry);
    fitting.set(kind, group);
  }
  // Equal rows are interchangeable once each has an entry; two entries for one row contradict each other.
  for (const group of fitting.values()) {
    if (group.rows.length !== group.entries.length) continue;
    for (const [row, entry] of inOrder(group.rows, group.entries)) assigned.set(row.position, entry);
  }
  return assigned;
}

/** Each row with the entry of its serial number; null unless all serials are ours and none contradicts its row. */
function serialsOf(rows: readonly FollowedRow[], entries: readonly EntryFacts[], context: RecordContext) {
  const left = new Map(rows.map((row) => [row.position + 1, row]));
  const found: [FollowedRow, StatusEntry][] = [];
  for (const facts of entries) {
    const { entry } = facts;
    const serial = /^\s*\d+\s*$/.test(entry.serialNo ?? '') ? Number(entry.serialNo) : Number.NaN;
    const row = left.get(serial);
    if (!row || !fits(row, facts, context)) return null;
    left.delete(serial);
    found.push([row, entry]);
  }
  return found;
}

/** The rows that an entry does not contradict; if several, those that its certificate's details do not contradict. */
function candidatesOf(rows: readonly FollowedRow[], facts: EntryFacts, context: RecordContext): FollowedRow[] {
  const fitting = rows.filter((row) => fits(row, facts, context));
  const certificate = context.certificates.get(numberKey(facts.entry.eBRCNumber ?? ''));
  if (fitting.length < 2 || !certificate) return fitting;
  const detailed = fitting.filter((row) => contradiction(row, certificate) === null);
  return detailed.length > 0 ? detailed : fitting;
}

/** Whether nothing that an entry tells contradicts a row. */
function fits(row: FollowedRow, entry: EntryFacts, { iec }: RecordContext): boolean {
  const { irmOn, documentOn, amount, currency } = entry;
  return (
    (entry.irmKey === '' || entry.irmKey === row.irmKey) &&
    (entry.documentKey === '' || entry.documentKey === row.documentKey) &&
    (irmOn === null || row.irmDates === null || row.irmDates.includes(irmOn)) &&
    (documentOn === null || row.documentOn === null || documentOn === row.documentOn) &&
    (entry.billKey === '' || row.billKey === '' || entry.billKey === row.billKey) &&
    (amount === 0 ||
      isSameAmount(amount, row.amount, row.currency) ||
      compareAmounts(amount, row.documentAmount) === 0) &&
    (currency === '' || currency === row.currency || currency === row.documentCurrency) &&
    (entry.iec === null || iec === null || entry.iec === iec)
  );
}

/** Rows of one kind differ in nothing that an entry or a certificate tells. */
const kindOf = (row: FollowedRow): string =>
  JSON.stringify([
    ...[row.irmKey, row.irmDates, row.documentKey, row.documentOn, row.billKey],
    ...[Number(row.amount), row.currency, Number(row.documentAmount), row.documentCurrency],
  ]);

/** Equal rows with their entries: a number stays with the row that has it, and the others follow in order. */
function inOrder(rows: readonly FollowedRow[], entries: readonly StatusEntry[]): [FollowedRow, StatusEntry][] {
  const key = (number: string | null) => (number === null ? '' : numberKey(number));
  const left = [...entries].sort((a, b) => (key(a.eBRCNumber) < key(b.eBRCNumber) ? -1 : 1));
  const pairs: [FollowedRow, StatusEntry][] = [];
  const take = (row: FollowedRow, at: number) => pairs.push([row, ...left.splice(at, 1)] as [FollowedRow, StatusEntry]);
  const others = rows.filter((row) => {
    const at = row.number === null ? -1 : left.findIndex(({ eBRCNumber }) => key(eBRCNumber) === key(row.number));
    if (at >= 0) take(row, at);
    return at < 0;
  });
  for (const row of others) take(row, 0);
  return pairs;
}

function reportOf(entry: StatusEntry, record: StatusRecord): RowReport | 'contradictory' | null {
  const number = entry.eBRCNumber?.trim() ?? '';
  if (isProcessed(entry) && number !== '') return { outcome: 'processed', number, date: entry.eBRCDt };
  if (!isErrored(entry)) return null;
  if (number !== '') return 'contradictory';
  const errors = errorTexts(entry.errorDetails);
  const duplicate = [...errors, ...errorTexts(record.errorDetails ?? [])].some(speaksOfDuplicate);
  return { outcome: 'errored', errors, duplicate };
}

function repeatedNumbers(entries: Iterable<StatusEntry>): Set<string> {
  const numbers = [...entries].flatMap(({ eBRCNumber }) => (eBRCNumber?.trim() ? [numberKey(eBRCNumber)] : []));
  return new Set(numbers.filter((number, index) => numbers.indexOf(number) !== index));
}

/** Whether the counts say no more successes than the entries do: such a one would be a row's that is Errored. */
function countsAgree({ recordProCount }: StatusRecord, reports: ReadonlyMap<number, RowReport>): boolean {
  const processed = [...reports.values()].filter(({ outcome }) => outcome === 'processed').length;
  return recordProCount === null || recordProCount <= processed;
}

const named = ({ irmNumber, sbCumInvoiceNumber, serialNo, eBRCNumber }: StatusEntry): string =>
  [
    `IRM ${irmNumber ?? 'not told'}`,
    `document ${sbCumInvoiceNumber ?? 'not told'}`,
    ...(serialNo === null ? [] : [`serial ${serialNo}`]),
    ...(eBRCNumber === null ? [] : [`certificate ${eBRCNumber}`]),
  ].join(', ');
