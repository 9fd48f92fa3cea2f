/** One reading of a company: its clients' IRMs, refreshed live, and its certificates up to today. */
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Irm } from '../api/schemas/exporters';
import { ApiError } from '../api/errors/api-error';
import {
  addDays,
  compareFilingDates,
  filingDateFromIso,
  filingDateInKolkata,
  isoFromFilingDate,
  splitWindow,
  type FilingDate,
} from '../domain/dates';
import { readIec } from '../domain/identity';
import { isErrorKind, type ErrorKind } from '../domain/service/error-kinds';
import { counted } from '../domain/text';
import { saveCertificates, vanishedCertificates } from '../ledger/certificates/certificates';
import { callableClients, learnIec, needExporter, noteIrmsRefreshed } from '../ledger/exporters/exporters';
import type { Company, ExporterRow } from '../ledger/exporters/exporters';
import { countIrms, iecOfIrms, saveIrms } from '../ledger/exporters/irms';
import { learnLate } from '../ledger/filings/late';
import { withTransaction } from '../ledger/pool';
import { beginReading, endReading, filingsInDoubt, lastWholeReading, readClock } from '../ledger/readings';
import { judgeIrms } from '../ledger/reconciliation/irm-findings';
import { judgeVanished } from '../ledger/reconciliation/vanished';
import type { FailureDetails } from './application-failure';
import { withHeartbeat } from './call-context';
import type { Deps } from './dependencies';
import { withCredentials } from './exporters/credential-guard';

export interface ReadCompanyArgs {
  exporterId: string;
  what: 'both' | 'certificates' | 'irms';
  /** The filing that asks: others in doubt are woken. */
  filingId?: string;
  /** Days of issue (YYYY-MM-DD, both included) instead of those since the last whole reading. */
  days?: { from: string; to: string };
}

export interface CompanyRead {
  /** `under_way`: another reading of the company is; `failed`: a call failed, and the reading says so. */
  state: 'read' | 'under_way' | 'failed';
  /** Whether the certificates were read whole up to today, and the client's IRMs; null: not read. */
  whole: boolean | null;
  irmsWhole: boolean | null;
  /** Why something was not read whole. */
  problem: string | null;
  /** The first call that failed. */
  failure: { kind: ErrorKind | null; message: string; credentialsVersion?: number } | null;
  /** How many IRMs of the client the ledger has. */
  irmCount: number;
  /** The days that were read whole, and when that began (epoch ms); null: none were. */
  read: { from: string; to: string; readAt: number } | null;
}

/** A reading that takes longer than this ends as a part, so that its lease is never given up. */
const PART_MS = 3 * 60_000;

/**
 * Reads a company, as the client `exporterId` and its other ready clients. A failed call does not fail the activity: the
 * reading records it, and the caller decides when to read again.
 */
async function readCompany(deps: Deps, args: ReadCompanyArgs): Promise<CompanyRead> {
  const exporter = await needExporter(deps.pool, args.exporterId);
  let company: Company = exporter;
  let read = await readOnce(deps, company, exporter, args);
  // The IRMs may have told the IEC.
  if (company.iec === null && args.what !== 'irms' && read.state === 'read') {
    const known = await needExporter(deps.pool, args.exporterId);
    company = known;
    if (known.iec !== null) {
      const { irmsWhole } = read;
      read = { ...(await readOnce(deps, company, known, { ...args, what: 'certificates' })), irmsWhole };
    } else read = { ...read, state: 'failed', whole: false, problem: NO_IEC };
  }
  // A long history is read in parts.
  while (read.state === 'read' && read.whole === false && read.problem === null && args.days === undefined) {
    const { irmsWhole } = read;
    read = { ...(await readOnce(deps, company, exporter, { ...args, what: 'certificates' })), irmsWhole };
  }
  if (read.state === 'read' && company.iec !== null) {
    const { mode, iec } = company;
    for (const workflowId of await filingsInDoubt(deps.pool, { mode, iec, except: args.filingId ?? null }))
      await deps.poke(workflowId);
  }
  return { ...read, irmCount: (await countIrms(deps.pool, [exporter.exporterId])).get(exporter.exporterId) ?? 0 };
}

const NO_IEC = 'the IEC of the exporter is not known: neither its client object nor its IRMs have one';

/** What a reading has come to so far. */
interface Progress {
  exporter: ExporterRow;
  irms: { exporterId: string; records: Irm[]; readAt: Date; whole: boolean }[];
  irmsWhole: boolean | null;
  from: FilingDate | null;
  to: FilingDate | null;
  listed: Set<string>;
  unread: number;
  /** Whether a window had no list, only words that say so, or an empty body. */
  noList: boolean;
  failure: CompanyRead['failure'];
}

type Read = Omit<CompanyRead, 'irmCount'>;

async function readOnce(deps: Deps, company: Company, exporter: ExporterRow, args: ReadCompanyArgs): Promise<Read> {
  const { pool } = deps;
  const reading = await beginReading(pool, company);
  const nothing = { whole: null, irmsWhole: null, failure: null, read: null };
  if (!reading) return { ...nothing, state: 'under_way', problem: 'another reading is under way' };
  const { readingId, beganAt } = reading;
  const progress: Progress = {
    ...{ exporter, irms: [], irmsWhole: null, from: null, to: null, listed: new Set<string>() },
    ...{ unread: 0, noList: false, failure: null },
  };
  try {
    const upToToday = await makeCalls(deps, company, args, progress);
    return await end(deps, company, progress, { readingId, beganAt, upToToday });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const ended = { from: null, to: null, whole: null, irmsWhole: null, problem };
    // The lease ends it otherwise, ten minutes after it began.
    await endReading(pool, readingId, ended).catch(() => undefined);
    throw error;
  }
}

/** @returns whether the certificates up to today were read, with all since the last whole reading; null: none were */
async function makeCalls(deps: Deps, company: Company, args: ReadCompanyArgs, progress: Progress): Promise<boolean | null> {
  const clients = await callableClients(deps.pool, company);
  if (args.what !== 'certificates') {
    for (const id of clients) await attempt(progress, id, () => readIrms(deps, id, progress));
    if (progress.failure !== null) return args.what === 'irms' ? null : false;
  }
  if (args.what === 'irms' || company.iec === null) return null;
  const span = await daysToRead(deps, company, args.days);
  const started = performance.now();
  for (const window of splitWindow(span.from, span.to)) {
    if (progress.to !== null && performance.now() - started > PART_MS) return false;
    for (const id of clients) {
      await attempt(progress, id, () => readWindow(deps, { ...company, exporterId: id, iec: company.iec ?? '' }, window, progress));
      if (progress.failure !== null) return false;
    }
    progress.from ??= window.from;
    progress.to = window.to;
  }
  return span.upToToday;
}

/** The days to read: those that a caller asks for, or from the day before the last whole reading to today. */
async function daysToRead({ pool, clock, settings }: Deps, company: Company, days: ReadCompanyArgs['days']) {
  const { readUpTo } = await lastWholeReading(pool, company);
  // Certificates bear the service's date: where our clocks differ, the later day is read too.
  const now = Math.max((await readClock(pool)).getTime(), clock());
  const today = filingDateInKolkata(now);
  const due = readUpTo === null ? filingDateInKolkata(now - settings.historyMs) : addDays(filingDateFromIso(readUpTo), -1);
  if (!days) return { from: due, to: today, upToToday: true };
  const [from, to] = [filingDateFromIso(days.from), filingDateFromIso(days.to)];
  return { from, to, upToToday: compareFilingDates(from, due) <= 0 && compareFilingDates(to, today) >= 0 };
}

/** Makes the calls of one client. Only the failure of the client that was asked for counts; others may not be able to. */
async function attempt(progress: Progress, exporterId: string, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    const failure = failureToRecord(error);
    if (failure === null) throw error;
    if (exporterId === progress.exporter.exporterId) progress.failure ??= failure;
  }
}

/** The failure of a call to the service; null: a cancellation, the ledger, or a defect, which the activity throws. */
function failureToRecord(error: unknown): CompanyRead['failure'] {
  if (error instanceof ApiError) {
    const { kind, message, credentialsVersion } = error;
    return kind === 'cancelled' || kind === 'ledger_unavailable' ? null : { kind, message, credentialsVersion };
  }
  // Our own refusal to call with credentials that are known to be bad.
  if (error instanceof ApplicationFailure && typeof error.type === 'string' && isErrorKind(error.type)) {
    const [details] = (error.details ?? []) as Partial<FailureDetails>[];
    return { kind: error.type, message: error.message, credentialsVersion: details?.credentialsVersion };
  }
  return null;
}

/** Has the service read the client's IRMs (spec: "POST /irm/refresh"), and reads what it saved (spec: "GET /irm"). */
async function readIrms(deps: Deps, exporterId: string, progress: Progress): Promise<void> {
  const { api, pool } = deps;
  // The balances are those of the refresh, which may see what was filed after its call began.
  const readAt = await readClock(pool);
  await withHeartbeat(exporterId, (call) => withCredentials(deps, exporterId, () => api.refreshIrms(exporterId, call)));
  const records: Irm[] = [];
  const unread = await withHeartbeat(exporterId, async (call) => {
    const list = api.listIrms(exporterId, call);
    for (;;) {
      const { done, value } = await list.next();
      if (done) return value;
      records.push(value);
      Context.current().heartbeat({ read: records.length });
    }
  });
  // An outage may look like an empty list.
  const vanished = records.length === 0 && ((await countIrms(pool, [exporterId])).get(exporterId) ?? 0) > 0;
  const whole = unread === 0 && !vanished;
  progress.irms.push({ exporterId, records, readAt, whole });
  if (exporterId === progress.exporter.exporterId) progress.irmsWhole = whole;
}

/** Reads and stores the certificates issued on some days (spec: "POST /genebrc/fetch-details"). */
async function readWindow(
  deps: Deps,
  { mode, iec, exporterId }: { mode: Deps['mode']; iec: string; exporterId: string },
  { from, to }: { from: FilingDate; to: FilingDate },
  progress: Progress,
): Promise<void> {
  const { api, pool } = deps;
  const askedAt = await readClock(pool);
  const query = { platformCustomerId: exporterId, iecCode: iec, eBRCIssueFromDt: from, eBRCIssueToDt: to };
  const answer = await withCredentials(deps, exporterId, () =>
    withHeartbeat(exporterId, (context) => api.fetchDetails(query, context)),
  );
  // Certificates of another IEC prove nothing about this one; the whole answer may be another's.
  const details = answer.certificates.filter((each) => [null, iec].includes(readIec(each.iec)));
  progress.unread += answer.unread + answer.certificates.length - details.length;
  progress.noList ||= answer.noList;
  for (const { eBRCNumber, sbCumInvoiceNumber, billNo } of details) {
    if (eBRCNumber) progress.listed.add(eBRCNumber.trim());
    // An entry without a number or a document can be anybody's.
    if (!eBRCNumber || !(sbCumInvoiceNumber?.trim() || billNo?.trim())) progress.unread += 1;
  }
  await saveCertificates(pool, { mode, iec, exporterId, details, askedAt });
}

/** Stores what the reading changed and what it came to, in one transaction. */
async function end(
  { pool, logger, mode }: Deps,
  company: Company,
  progress: Progress,
  { readingId, beganAt, upToToday }: { readingId: string; beganAt: Date; upToToday: boolean | null },
): Promise<Read> {
  const { iec } = company;
  const { failure, irmsWhole, exporter } = progress;
  const days =
    progress.from && progress.to
      ? { from: isoFromFilingDate(progress.from), to: isoFromFilingDate(progress.to) }
      : null;
  const listed = [...progress.listed];
  return withTransaction(pool, async (client) => {
    // It locks filings, which come first in the order of locks. It may have learnt something from a reading that failed.
    if (iec !== null) await learnLate(client, { mode, iec });
    for (const irms of progress.irms) {
      const { changed } = await saveIrms(client, irms);
      await noteIrmsRefreshed(client, irms.exporterId, irms.readAt);
      await learnIec(client, { exporterId: irms.exporterId, iec: await iecOfIrms(client, irms.exporterId), source: 'irms' });
      const severe = changed.filter(({ what }) => what.some((each) => each !== 'balance' && each !== 'status'));
      if (severe.length > 0) logger.warn({ exporterId: irms.exporterId, changed: severe.length }, 'IRMs were amended or cancelled, or are missing');
    }
    if (progress.irms.length > 0) await judgeIrms(client, company);
    const vanished = iec !== null && days ? await vanishedCertificates(client, { mode, iec, ...days, listed }) : [];
    if (iec !== null && days) {
      const news = vanished.filter(({ acknowledged }) => !acknowledged);
      await judgeVanished(client, { mode, iec, vanished: news, listed });
    }
    const problem = failure ? `${failure.kind ?? 'failed'}: ${failure.message}` : problemOf(progress, vanished);
    const readDays = upToToday !== null && days !== null && problem === null;
    const whole = upToToday === null ? null : readDays && upToToday;
    const result = { whole, irmsWhole, problem };
    const stands = await endReading(client, readingId, { ...result, from: days?.from ?? null, to: days?.to ?? null });
    const late = 'it took longer than ten minutes, and another reading may have begun';
    if (!stands) return { ...result, state: 'failed', whole: false, problem: late, failure, read: null };
    logger.info({ exporterId: exporter.exporterId, ...days, whole, irmsWhole, problem }, 'a company was read');
    const read = readDays ? { ...days, readAt: beganAt.getTime() } : null;
    return { ...result, state: failure ? 'failed' : 'read', failure, read };
  });
}

/** Why a reading without a failed call is not whole; null: it is. */
function problemOf(
  { unread, noList, irms, irmsWhole }: Progress,
  vanished: readonly { eBRCNumber: string; acknowledged: boolean }[],
): string | null {
  const missing = vanished.filter(({ acknowledged }) => !acknowledged);
  if (unread > 0) return `${counted(unread, 'entry', 'entries')} of fetch-details cannot be read, or name another IEC`;
  if (missing.length > 0) {
    const names = missing.slice(0, 5).map(({ eBRCNumber }) => eBRCNumber);
    return `${counted(missing.length, 'certificate')} that fetch-details listed before are not in its answer: ${names.join(', ')}`;
  }
  if (noList && vanished.length > 0) return 'fetch-details gave no list, although it listed certificates of these days before';
  return irms.length > 0 && irmsWhole === false ? 'the list of IRMs is not whole' : null;
}

export const companyActivities = { readCompany };
