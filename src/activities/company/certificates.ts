/** Reads a company's certificates, as each of its clients that can be called. */
import {
  addDays,
  compareFilingDates,
  filingDateFromIso,
  filingDateInKolkata,
  isoFromFilingDate,
  splitWindow,
  type FilingDate,
} from '../../domain/dates';
import { readIec } from '../../domain/identity';
import type { Mode } from '../../domain/names';
import { counted } from '../../domain/text';
import { saveCertificates, vanishedCertificates } from '../../ledger/certificates/certificates';
import { callableClients, type Company } from '../../ledger/exporters/exporters';
import { learnLate, type Reopened } from '../../ledger/attempts/late';
import { withTransaction } from '../../ledger/pool';
import { endReading, lastDayRead, readClock } from '../../ledger/readings';
import { judgeVanished } from '../../ledger/reconciliation/findings';
import { withHeartbeat } from '../call-context';
import type { Deps } from '../dependencies';
import { withCredentials } from '../exporters/credential-guard';
import { failureOfCalls, textOfFailure, TOOK_TOO_LONG, underLease, type CallFailed, type CompanyRead } from './reading';

/** Days of issue, YYYY-MM-DD, both included. */
export interface Days {
  from: string;
  to: string;
}

/** A reading that takes longer than this ends as a part, so that its lease is never given up. */
const PART_MS = 3 * 60_000;

/** What the calls of a reading listed. */
interface Listed {
  from: FilingDate | null;
  to: FilingDate | null;
  numbers: Set<string>;
  unread: number;
  /** A window had no list, only words that say so, or an empty body. */
  noList: boolean;
}

/** One reading of certificates: of `days`, or from the day before the last whole reading to today. */
export function readCertificates(
  deps: Deps,
  company: Company & { iec: string },
  days: Days | undefined,
): Promise<CompanyRead> {
  const { pool, logger } = deps;
  const { mode, iec, exporterId } = company;
  return underLease(deps, company, async ({ readingId, beganAt }) => {
    const listed: Listed = { from: null, to: null, numbers: new Set(), unread: 0, noList: false };
    const span = await daysToRead(deps, company, days);
    const { failure, complete } = await listWindows(deps, company, span, listed);
    const { from, to } = listed;
    const read = from && to ? { from: isoFromFilingDate(from), to: isoFromFilingDate(to) } : null;
    const numbers = [...listed.numbers];
    let reopened: Reopened[] = [];
    const result = await withTransaction(pool, async (client) => {
      // It locks filings, which come first in the order of locks.
      ({ reopened } = await learnLate(client, { mode, iec }));
      const vanished = read ? await vanishedCertificates(client, { mode, iec, ...read, listed: numbers }) : [];
      const missing = vanished.filter(({ acknowledged }) => !acknowledged);
      await judgeVanished(client, { mode, iec, vanished: missing, listed: numbers });
      const problem = failure ? textOfFailure(failure) : problemOf(listed, missing, vanished.length);
      const whole = problem === null && complete && span.upToToday;
      const result = { whole, irmsWhole: null, problem };
      if (!(await endReading(client, readingId, { ...result, from: read?.from ?? null, to: read?.to ?? null })))
        return TOOK_TOO_LONG;
      logger.info({ exporterId, certificates: numbers.length, whole, problem }, 'certificates were read');
      const wasRead = read && failure === null ? { ...read, readAt: beganAt.getTime(), whole: problem === null } : null;
      return { ...result, state: failure ? 'failed' : 'read', failure, read: wasRead } as const;
    });
    for (const { filingId } of reopened) await deps.pokeOrStart(filingId);
    return result;
  });
}

async function daysToRead({ pool, clock, settings }: Deps, company: Company, days: Days | undefined) {
  const readUpTo = await lastDayRead(pool, company);
  // Certificates bear the service's date: where clocks differ, the later day is read too.
  const now = Math.max((await readClock(pool)).getTime(), clock());
  const today = filingDateInKolkata(now);
  const first = filingDateInKolkata(now - settings.historyMs);
  const due = readUpTo === null ? first : addDays(filingDateFromIso(readUpTo), -1);
  if (!days) return { from: due, to: today, upToToday: true };
  const [from, to] = [filingDateFromIso(days.from), filingDateFromIso(days.to)];
  return { from, to, upToToday: compareFilingDates(from, due) <= 0 && compareFilingDates(to, today) >= 0 };
}

/** Lists the certificates of a span, window by window. `complete` false: only of its first windows. */
async function listWindows(
  deps: Deps,
  company: Company & { iec: string },
  span: { from: FilingDate; to: FilingDate },
  listed: Listed,
): Promise<{ failure: CallFailed | null; complete: boolean }> {
  const clients = await callableClients(deps.pool, company);
  const began = performance.now();
  for (const window of splitWindow(span.from, span.to)) {
    if (listed.to !== null && performance.now() - began > PART_MS) return { failure: null, complete: false };
    for (const exporterId of clients) {
      const failure = await failureOfCalls(() => listWindow(deps, { ...company, exporterId }, window, listed));
      // Others of the company may not be able to; what only they were shown is missed below.
      if (failure && exporterId === company.exporterId) return { failure, complete: false };
    }
    listed.from ??= window.from;
    listed.to = window.to;
  }
  return { failure: null, complete: true };
}

/** Lists and stores the certificates issued in a window, as one client (spec: "POST /genebrc/fetch-details"). */
async function listWindow(
  deps: Deps,
  { mode, iec, exporterId }: { mode: Mode; iec: string; exporterId: string },
  { from, to }: { from: FilingDate; to: FilingDate },
  listed: Listed,
): Promise<void> {
  const { api, pool } = deps;
  const askedAt = await readClock(pool);
  const query = { platformCustomerId: exporterId, iecCode: iec, eBRCIssueFromDt: from, eBRCIssueToDt: to };
  const answer = await withCredentials(deps, exporterId, () =>
    withHeartbeat(exporterId, (context) => api.fetchDetails(query, context)),
  );
  // Certificates of another IEC prove nothing about this one; the whole answer may be another's.
  const details = answer.certificates.filter((each) => [null, iec].includes(readIec(each.iec)));
  listed.unread += answer.unread + answer.certificates.length - details.length;
  listed.noList ||= answer.noList;
  for (const { eBRCNumber, sbCumInvoiceNumber, billNo } of details) {
    if (eBRCNumber) listed.numbers.add(eBRCNumber.trim());
    // An entry without a number or a document can be anybody's.
    if (!eBRCNumber || !(sbCumInvoiceNumber?.trim() || billNo?.trim())) listed.unread += 1;
  }
  await saveCertificates(pool, { mode, iec, exporterId, details, askedAt });
}

/** Why a reading without a failed call is not whole; null: it is. @param vanished acknowledged ones too */
function problemOf(
  { unread, noList }: Listed,
  missing: readonly { eBRCNumber: string }[],
  vanished: number,
): string | null {
  if (unread > 0) return `fetch-details: ${unread} of its entries cannot be read, or name another IEC`;
  if (missing.length > 0) {
    const names = missing.slice(0, 5).map(({ eBRCNumber }) => eBRCNumber);
    return `fetch-details lacks ${counted(missing.length, 'certificate')} that it listed before: ${names.join(', ')}`;
  }
  return noList && vanished > 0
    ? 'fetch-details gave no list, although it listed certificates of these days before'
    : null;
}
