/** Interprets a status record (spec: "Request status record"): terminal only if it accounts for every row. */
import type { Mapping } from '../filing/mapping';
import { groupBy } from '../values';
import { comparableText, sameId } from '../identity';
import { cutText, plainText } from '../text';

/** The fields of a status record that are used, with the spec's names. */
export interface StatusRecord {
  processingStatus: string | null;
  recordProCount: number | null;
  recordFailCount: number | null;
  errorDetails?: readonly unknown[];
  ebrcBulkGenStatusLst: readonly StatusRecordEntry[];
  /** Number of list entries that could not be parsed; each may belong to any row. */
  unreadEntries?: number;
}

/** Whether a status record is about the polled request; another request's counts would free rows wrongly. */
export function isAbout(
  record: { requestId: string | null; dgftAckId: string | null },
  asked: { requestId: string; dgftAckId: string | null },
): boolean {
  if (record.requestId === null || sameId(record.requestId, asked.requestId)) return true;
  // `requestId` may hold the authority's own id; the record is then identified by its `dgftAckId`.
  return record.dgftAckId !== null && asked.dgftAckId !== null && sameId(record.dgftAckId, asked.dgftAckId);
}

export interface StatusRecordEntry {
  serialNo: string | null;
  irmNumber: string | null;
  irmDt: string | null;
  sbCumInvoiceNumber: string | null;
  sbCumInvoiceDate: string | null;
  eBRCNumber: string | null;
  eBRCDt: string | null;
  processingStatus: string | null;
  errorDetails: readonly unknown[];
}

/** A row that was sent, with its certificate if it has one already. */
export interface SentRow {
  position: number;
  serialNo: number;
  mapping: Pick<Mapping, 'irmNumber' | 'sbCumInvoiceNumber'>;
  eBRCNumber: string | null;
  eBRCDate: string | null;
}

export interface StatusVerdict {
  /**
   * `incomplete`: the authority is done but leaves rows without an outcome, which fetch-details may fill later.
   * `errored`: Errored without counts and list, or by counts that fit only with certificates that the record does not
   * list; it is believed only after the settle window and a look.
   */
  verdict: 'terminal' | 'incomplete' | 'errored' | 'not_yet';
  rows: (
    | {
        position: number;
        outcome: 'certified';
        eBRCNumber: string;
        eBRCDate: string | null;
        /** The row has its certificate already, and the record does not list it. */
        kept?: true;
      }
    | { position: number; outcome: 'errored'; errors: string[] }
    | { position: number; outcome: 'open' }
  )[];
  /** The authority is done, accounts for every record, and each record is another filing's. */
  strangersOnly?: true;
  reason: string;
}

const PROCESSED = 'processed';
const ERRORED = 'errored';

const word = (text: string | null): string => (text ?? '').trim().toLowerCase();

const MESSAGE_FIELDS = ['errorMessage', 'message', 'errorDescription', 'description'] as const;

/** Texts of the undocumented `errorDetails`: a string, code and message, or else everything that an entry holds. */
export function errorTexts(details: readonly unknown[]): string[] {
  return details.map((detail) => {
    if (typeof detail === 'string') return cutText(detail);
    if (typeof detail !== 'object' || detail === null) return String(detail);
    const parts = detail as Record<string, unknown>;
    const isText = (part: unknown) => (typeof part === 'string' && part.trim() !== '') || typeof part === 'number';
    const code = [parts.errorCode, parts.code].find(isText);
    const known = MESSAGE_FIELDS.map((field) => parts[field]).find(isText);
    const others = Object.entries(parts).flatMap(([field, part]) =>
      field !== 'errorCode' && field !== 'code' && typeof part === 'string' && isText(part) ? [part] : [],
    );
    if (code === undefined && known === undefined) return cutText(plainText(detail));
    return cutText([code, known ?? others.join(', ')].filter(isText).join(': '));
  });
}

/** The first {@link errorTexts}, cut for a history; the ledger has all. */
export function errorsInShort(details: readonly unknown[]): string[] {
  return errorTexts(details.slice(0, 20)).map((text) => cutText(text, 500));
}

/** IRM and document in comparable form; null if an entry lacks them. */
interface Names {
  irm: string | null;
  document: string | null;
}

const namesOf = ({
  irmNumber,
  sbCumInvoiceNumber,
}: Pick<StatusRecordEntry, 'irmNumber' | 'sbCumInvoiceNumber'>): Names => ({
  irm: irmNumber === null ? null : comparableText(irmNumber),
  document: sbCumInvoiceNumber === null ? null : comparableText(sbCumInvoiceNumber),
});

/** Whether an entry may be about a row: it names no other IRM and no other document. */
function agrees(row: Names, entry: Names): boolean {
  return (entry.irm === null || entry.irm === row.irm) && (entry.document === null || entry.document === row.document);
}

/** Drops repeated entries that name serial, IRM and document; entries that name less may be about two rows. */
function withoutRepeats(entries: readonly StatusRecordEntry[]): StatusRecordEntry[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    if (entry.serialNo === null || bothNames(namesOf(entry)) === undefined) return true;
    const text = JSON.stringify(Object.entries(entry).sort(([one], [other]) => (one < other ? -1 : 1)));
    return !seen.has(text) && seen.add(text);
  });
}

/** Counts entries without IRM or document as unread: in a request that a person named they may be another filing's. */
export function withoutNameless<R extends StatusRecord>(record: R): R {
  const entries = record.ebrcBulkGenStatusLst;
  const named = entries.filter((entry) => bothNames(namesOf(entry)) !== undefined);
  const unreadEntries = (record.unreadEntries ?? 0) + entries.length - named.length;
  return { ...record, ebrcBulkGenStatusLst: named, unreadEntries };
}

const bothNames = ({ irm, document }: Names): string | undefined =>
  irm === null || document === null ? undefined : JSON.stringify([irm, document]);

/** The entries that name IRM and document of a sent row; others may be from another exporter's filing. */
export function entriesOf<E extends StatusRecordEntry>(
  rows: readonly SentRow[],
  { ebrcBulkGenStatusLst: entries }: { ebrcBulkGenStatusLst: readonly E[] },
): E[] {
  const sent = new Set(rows.map(({ mapping }) => bothNames(namesOf(mapping))));
  return entries.filter((entry) => {
    const names = bothNames(namesOf(entry));
    return names !== undefined && sent.has(names);
  });
}

/** The entry of each sent row: by serial number unless IRM or document differ, else by IRM and document if unique. */
function entriesByPosition(rows: readonly SentRow[], entries: readonly StatusRecordEntry[]) {
  const found = new Map<number, StatusRecordEntry>();
  const remaining = new Set(entries);
  const take = (row: SentRow, entry: StatusRecordEntry) => {
    found.set(row.position, entry);
    remaining.delete(entry);
  };
  const bySerial = groupBy(entries, ({ serialNo }) => (serialNo === null ? undefined : String(Number(serialNo))));
  for (const row of rows) {
    const [entry, ...others] = (bySerial.get(String(row.serialNo)) ?? []).filter((candidate) =>
      remaining.has(candidate),
    );
    if (entry && others.length === 0 && agrees(namesOf(row.mapping), namesOf(entry))) take(row, entry);
  }
  const byNames = groupBy(remaining, (entry) => bothNames(namesOf(entry)));
  const unmatched = rows.filter((row) => !found.has(row.position));
  for (const [names, [row, ...others]] of groupBy(unmatched, ({ mapping }) => bothNames(namesOf(mapping)))) {
    const [entry, ...more] = byNames.get(names) ?? [];
    if (entry && others.length === 0 && more.length === 0) take(row, entry);
  }
  return found;
}

function verdictOf(
  row: SentRow,
  entry: StatusRecordEntry | undefined,
  taken: Set<string>,
): StatusVerdict['rows'][number] {
  const { position, eBRCNumber, eBRCDate } = row;
  if (!entry && eBRCNumber !== null) return { position, outcome: 'certified', eBRCNumber, eBRCDate, kept: true };
  if (!entry) return { position, outcome: 'open' };
  const status = word(entry.processingStatus);
  const number = entry.eBRCNumber?.trim() ?? '';
  if (status === PROCESSED && number !== '' && !taken.has(number)) {
    taken.add(number);
    return { position, outcome: 'certified', eBRCNumber: number, eBRCDate: entry.eBRCDt };
  }
  // An errored record with a certificate contradicts itself: the row stays open for fetch-details or a person.
  if (status === ERRORED && number === '') {
    return { position, outcome: 'errored', errors: errorTexts(entry.errorDetails) };
  }
  return { position, outcome: 'open' };
}

/** Keeps an errored row open if a certificate entry without a row (`unplaced`) may be its own. */
function unlessCertified(
  row: SentRow,
  verdict: StatusVerdict['rows'][number],
  unplaced: readonly Names[],
): StatusVerdict['rows'][number] {
  if (verdict.outcome !== 'errored') return verdict;
  const names = namesOf(row.mapping);
  return unplaced.some((entry) => agrees(names, entry)) ? { position: row.position, outcome: 'open' } : verdict;
}

/** Whether the authority is done with a request; before that a record proves nothing about its rows. */
export function isDone({ processingStatus }: Pick<StatusRecord, 'processingStatus'>): boolean {
  const status = word(processingStatus);
  return status === PROCESSED || status === ERRORED;
}

/** Judges the sent rows by a status record. Never throws; an unknown `processingStatus` is `not_yet`. */
export function judgeStatus(rows: readonly SentRow[], given: StatusRecord): StatusVerdict {
  const record = { ...given, ebrcBulkGenStatusLst: withoutRepeats(given.ebrcBulkGenStatusLst) };
  const matched = entriesByPosition(rows, record.ebrcBulkGenStatusLst);
  const held = rows.filter((row) => !matched.has(row.position)).flatMap((row) => row.eBRCNumber ?? []);
  const taken = new Set(held);
  const entries = new Set(matched.values());
  const strays = record.ebrcBulkGenStatusLst.filter((entry) => !entries.has(entry));
  const unplaced = strays.filter((entry) => entry.eBRCNumber?.trim()).map(namesOf);
  const verdicts = rows.map((row) => unlessCertified(row, verdictOf(row, matched.get(row.position), taken), unplaced));
  const status = word(record.processingStatus);
  const summary =
    record.processingStatus === null ? 'no processingStatus yet' : `processingStatus ${record.processingStatus}`;
  if (!isDone(record)) return { verdict: 'not_yet', rows: verdicts, reason: summary };

  const open = verdicts.filter((row) => row.outcome === 'open').length;
  if (open === 0) return { verdict: 'terminal', rows: verdicts, reason: `${summary}, every record is listed` };

  const processed = record.recordProCount ?? 0;
  const failed = record.recordFailCount ?? 0;
  const certified = verdicts.filter((row) => row.outcome === 'certified').length;
  const errored = verdicts.filter((row) => row.outcome === 'errored').length;
  const requestErrors = errorTexts(record.errorDetails ?? []);
  const restErrored = (): StatusVerdict['rows'] =>
    verdicts.map((row) =>
      row.outcome === 'open' ? { position: row.position, outcome: 'errored', errors: requestErrors } : row,
    );
  const unread = record.unreadEntries ?? 0;
  const untouched = record.ebrcBulkGenStatusLst.length === 0 && unread === 0 && processed === 0 && failed === 0;
  if (status === ERRORED && untouched) {
    return { verdict: 'errored', rows: restErrored(), reason: `${summary} without counts and records` };
  }
  const counted = processed + failed === rows.length;
  // If the counts leave only failures for the unlisted rows, these rows failed. A listed row without an outcome, a
  // certificate without a row, or a record of another row contradicts that: freeing rows could then file a mapping
  // again that has its certificate.
  const sent = rows.map(({ mapping }) => namesOf(mapping));
  const isStranger = (entry: StatusRecordEntry) => !sent.some((row) => agrees(row, namesOf(entry)));
  const foreign = strays.some((entry) => entry.eBRCNumber?.trim() || isStranger(entry));
  const listed = record.ebrcBulkGenStatusLst.length;
  const strangersOnly = listed > 0 && unread === 0 && processed + failed === listed && strays.every(isStranger);
  const contradicted = unread > 0 || foreign;
  const unlisted = verdicts.every((row) => row.outcome !== 'open' || !matched.has(row.position));
  if (counted && unlisted && !contradicted && processed === certified && failed === errored + open) {
    // A row may have its certificate by other evidence, and wrongly: the count may then mean an unlisted row.
    const verdict = held.length === 0 ? 'terminal' : 'errored';
    return { verdict, rows: restErrored(), reason: `${summary}, the counts account for every record` };
  }
  return {
    verdict: 'incomplete',
    rows: verdicts,
    ...(strangersOnly && matched.size === 0 && { strangersOnly }),
    reason: `${summary}, but ${open} of ${rows.length} records have no outcome`,
  };
}
