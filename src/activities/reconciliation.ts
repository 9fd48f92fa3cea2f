import { Context } from '@temporalio/activity';
import { reconcileInput, type ReconcileInput, type ReconcileResult } from '../domain/report-contracts';
import {
  addDays,
  filingDateFromIso,
  filingDateInKolkata,
  isoFromFilingDate,
  splitWindow,
  WINDOW_DAYS,
  DAY_MS,
} from '../domain/dates';
import type { FindingKind, ReconcileCheck } from '../domain/reconciliation/findings';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import { otherModeText } from '../domain/values';
import { saveCertificates } from '../ledger/certificates/certificates';
import { compareParty } from '../ledger/reconciliation/compare';
import { readWithHash } from '../documents/stored-document';
import { markPdfMissing, pdfProblem, savePdfChecks, storedPdfs } from '../ledger/certificates/pdfs';
import { countFindings, explainNearMatches, noteHealed, repairable } from '../ledger/reconciliation/findings';
import type { RepairableFinding } from '../ledger/reconciliation/findings';
import {
  openFilingsOf,
  partiesAfter,
  partyToReconcile,
  type PartyToReconcile,
  endRun,
  startRun,
  lastReadings,
  readingBegins,
  saveWindow,
} from '../ledger/reconciliation/runs';
import { openFiling } from '../ledger/filings/open-filings';
import { describeRun, checkRun } from '../temporal/filing-runs';
import { withHeartbeat } from './call-context';
import { withCredentials } from './exporters/credential-guard';
import { now, type Deps } from './dependencies';
import { certificatesOf } from './read-details';

export type { PartyToReconcile, RepairableFinding };

/** A span of days as workflows pass it: YYYY-MM-DD, `readAt` in epoch ms. */
export interface WindowReading {
  from: string;
  to: string;
  readAt: number;
}

/** A window that ended longer ago than this rarely changes, so it is read once a day. */
const QUIET_AFTER_MS = 7 * DAY_MS;
const DOCUMENTS_PER_LOOK = 200;
/** Well below the activity's time-out; 100,000 PDFs take a handful of such activities. */
const CHECK_DOCUMENTS_MS = 60_000;
/** Twenty minutes of repairs per party at five PDFs a minute; the next run continues. */
const REPAIRS_PER_RUN = 100;

async function planReconciliation(
  deps: Deps,
  args: { input: ReconcileInput; runId: string; workflowId: string },
): Promise<{
  /** What is wrong with the input; then the other fields are empty. */
  problems: string[];
  from: string;
  to: string;
}> {
  const { mode, clock, pool } = deps;
  const { input, runId, workflowId } = args;
  const parsed = reconcileInput.safeParse(input, IN_PLAIN_WORDS);
  const problems = (parsed.error?.issues ?? []).map(issueText);
  if (parsed.success && parsed.data.mode !== mode) {
    problems.push(otherModeText('The reconciliation is for', input.mode, mode));
  }
  if (problems.length > 0) return { problems, from: '', to: '' };
  const today = filingDateInKolkata(clock());
  const to = input.to ?? isoFromFilingDate(today);
  const from = input.from ?? isoFromFilingDate(addDays(filingDateFromIso(to), 1 - WINDOW_DAYS));
  await startRun(pool, { runId, mode, workflowId, exporterId: input.exporterId ?? null, from, to, at: now(deps) });
  return { problems: [], from, to };
}

/** The next parties to compare, or the one of a named exporter. `next` is null after the last page. */
async function partiesToReconcile(
  { pool, mode }: Deps,
  args: { exporterId?: string; after: number; limit: number },
): Promise<{ parties: PartyToReconcile[]; next: number | null }> {
  if (args.exporterId !== undefined) {
    const party = await partyToReconcile(pool, args.exporterId);
    return { parties: party ? [party] : [], next: null };
  }
  const parties = await partiesAfter(pool, { mode, after: args.after, limit: args.limit });
  return { parties, next: parties.length < args.limit ? null : (parties.at(-1)?.partyId ?? null) };
}

/** Cuts a span into windows. Those that ended over a week ago and have no open finding are not read twice a day. */
async function certificateWindows(
  { pool, clock }: Deps,
  args: { partyId: number; from: string; to: string },
): Promise<{ read: Omit<WindowReading, 'readAt'>[]; known: WindowReading[] }> {
  const windows = splitWindow(filingDateFromIso(args.from), filingDateFromIso(args.to)).map((window) => ({
    from: isoFromFilingDate(window.from),
    to: isoFromFilingDate(window.to),
  }));
  const readings = await lastReadings(pool, { partyId: args.partyId, windows });
  const known = windows.flatMap((window, index) => {
    const { readAt = null, open = true } = readings[index] ?? {};
    const quiet = Date.parse(`${window.to}T00:00:00Z`) < clock() - QUIET_AFTER_MS;
    const lately = readAt && quiet && !open && readAt.getTime() > clock() - DAY_MS;
    return lately ? [{ ...window, readAt: readAt.getTime() }] : [];
  });
  return { read: windows.filter(({ from }) => !known.some((window) => window.from === from)), known };
}

/** Reads every certificate issued in a window into the ledger (spec: "POST /genebrc/fetch-details"). */
async function readCertificates(
  deps: Deps,
  args: {
    partyId: number;
    exporterId: string;
    iecCode: string;
    from: string;
    to: string;
    before?: (WindowReading & { whole: boolean }) | null;
    more?: boolean;
  },
): Promise<WindowReading & { certificates: number; whole: boolean }> {
  const { pool, api } = deps;
  const { partyId, exporterId, iecCode, from, to, before, more = false } = args;
  const readAt = before ? new Date(before.readAt) : await readingBegins(pool);
  const askedAt = now(deps);
  const { certificates, unread } = await withCredentials(deps, exporterId, () =>
    withHeartbeat(exporterId, (context) =>
      api.fetchDetails(
        {
          platformCustomerId: exporterId,
          iecCode,
          eBRCIssueFromDt: filingDateFromIso(from),
          eBRCIssueToDt: filingDateFromIso(to),
        },
        context,
      ),
    ),
  );
  const details = certificatesOf(iecCode, certificates);
  const saved = await saveCertificates(pool, { exporterId, iecCode, details, askedAt, at: now(deps) });
  // A window with unreadable entries, or entries of another IEC, was not read completely, so it closes no finding.
  const whole = saved !== null && unread === 0 && details.length === certificates.length && before?.whole !== false;
  if (whole && !more) await saveWindow(pool, { partyId, from, to, readAt });
  return { from, to, readAt: readAt.getTime(), certificates: certificates.length, whole };
}

/** Hashes a party's next stored PDFs for about a minute. `after`: when the check began. `each`: checks all PDFs. */
async function checkDocuments(
  deps: Deps,
  args: { partyId: number; after: string; each: boolean },
): Promise<{ next: string | null }> {
  const { pool, documents } = deps;
  const { partyId, each } = args;
  const until = performance.now() + CHECK_DOCUMENTS_MS;
  const began = args.after === '' ? now(deps) : new Date(args.after);
  for (;;) {
    const stored = await storedPdfs(pool, { partyId, began, limit: DOCUMENTS_PER_LOOK, each });
    const looks: Parameters<typeof savePdfChecks>[1]['looks'] = [];
    for (const { eBRCNumber, document, sha256 } of stored) {
      Context.current().heartbeat();
      const found = (await readWithHash(documents, document))?.sha256 ?? null;
      looks.push({ eBRCNumber, found, problem: found === null ? 'missing' : found === sha256 ? null : 'damaged' });
    }
    await savePdfChecks(pool, { partyId, looks, at: now(deps) });
    if (stored.length < DOCUMENTS_PER_LOOK) return { next: null };
    if (performance.now() > until) return { next: began.toISOString() };
  }
}

async function compareLedger(
  deps: Deps,
  args: { partyId: number; checks: ReconcileCheck[]; windows: WindowReading[] },
) {
  const { pool, mode, settings, logger } = deps;
  const { partyId, checks } = args;
  const windows = args.windows.map((window) => ({ ...window, readAt: new Date(window.readAt) }));
  const compared = await compareParty(pool, {
    mode,
    partyId,
    checks,
    windows,
    withoutWorkflow: checks.includes('filings') ? await filingsWithoutWorkflow(deps, partyId) : [],
    overdueAfterMs: settings.overdueAfterMs,
    at: now(deps),
  });
  if (checks.includes('certificates')) await explainNearMatches(pool, partyId);
  logger.info({ partyId, ...compared }, 'reconciled');
  return compared;
}

/** Prepares a missing or damaged PDF to be fetched again. @returns `fetch` false if nothing is wrong with it */
async function prepareRefetch(
  { pool, documents, mode }: Deps,
  { partyId, eBRCNumber }: { partyId: number; eBRCNumber: string },
): Promise<{ fetch: boolean }> {
  const problem = await pdfProblem(pool, partyId, eBRCNumber);
  if (problem === null) return { fetch: false };
  // Move the file first, because a download reuses a file of that name and would take the damaged one.
  if (problem === 'damaged') await documents.setAside({ name: eBRCNumber, kind: 'pdf', mode });
  await markPdfMissing(pool, partyId, eBRCNumber);
  return { fetch: true };
}

/** Starts a new run of a filing that may have been sent, else records what to do. @returns why it started, or null */
async function followLostFiling(deps: Deps, { filingId }: { filingId: string }): Promise<{ why: string | null }> {
  const { pool, logger, clock } = deps;
  const filing = await openFiling(pool, filingId);
  if (!filing) return { why: null };
  // Filings run on the task queue of this activity.
  const { taskQueue } = Context.current().info;
  const { resumed, why } = await checkRun({ pool, temporal: deps.client(), taskQueue, logger, clock }, filing);
  return { why: resumed ? why : null };
}

async function endReconciliation(
  deps: Deps,
  args: { runId: string; exporterId?: string; result: ReconcileResult },
): Promise<{ counts: Record<FindingKind, number> }> {
  const { pool, mode } = deps;
  const party = args.exporterId === undefined ? null : await partyToReconcile(pool, args.exporterId);
  const counts = await countFindings(pool, { mode, partyId: party?.partyId });
  await endRun(pool, { runId: args.runId, result: { ...args.result, counts }, at: now(deps) });
  return { counts };
}

/** Open filings whose workflow has ended or is gone, found by describe, because lists lag and outages prove nothing. */
async function filingsWithoutWorkflow(deps: Deps, partyId: number): Promise<string[]> {
  const { pool, mode } = deps;
  const lost: string[] = [];
  for (const { filingId, workflowId } of await openFilingsOf(pool, { mode, partyId })) {
    if ((await describeRun(deps.client(), workflowId)).status !== 'running') lost.push(filingId);
  }
  return lost;
}

export const reconciliationActivities = {
  planReconciliation,
  partiesToReconcile,
  certificateWindows,
  readCertificates,
  checkDocuments,
  compareLedger,
  prepareRefetch,
  followLostFiling,
  endReconciliation,

  repairsOf: ({ pool }: Deps, { partyId }: { partyId: number }) =>
    repairable(pool, { partyId, limit: REPAIRS_PER_RUN }),

  noteHealed: ({ pool }: Deps, args: Parameters<typeof noteHealed>[1]) => noteHealed(pool, args),
};
