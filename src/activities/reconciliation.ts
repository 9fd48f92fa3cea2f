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
import { readWithHash } from '../documents/stored-document';
import { markPdfMissing, pdfProblem, savePdfChecks, storedPdfs, type PdfCheck } from '../ledger/certificates/pdfs';
import { countFindings, noteHealed } from '../ledger/findings';
import { readClock, readingsOfSpans } from '../ledger/readings';
import { compareCompany } from '../ledger/reconciliation/compare';
import { repairable, type RepairableFinding } from '../ledger/reconciliation/findings';
import {
  companiesAfter,
  companyToReconcile,
  endRun,
  startRun,
  type CompanyToReconcile,
} from '../ledger/reconciliation/runs';
import type { Deps } from './dependencies';

export type { CompanyToReconcile, RepairableFinding };

/** A span of days that was read: YYYY-MM-DD, `readAt` in epoch ms. `whole`: what it did not show is not there. */
export interface WindowRead {
  from: string;
  to: string;
  readAt: number;
  whole: boolean;
}

/** A window that ended longer ago than this rarely changes, so it is read once a day. */
const QUIET_AFTER_MS = 7 * DAY_MS;
const DOCUMENTS_AT_ONCE = 200;
/** Well below the activity's time-out; 100,000 PDFs take a handful of such activities. */
const CHECK_DOCUMENTS_MS = 60_000;
/** Twenty minutes of repairs per company at five PDFs a minute; the next run continues. */
const REPAIRS_PER_RUN = 100;

async function planReconciliation(
  { mode, clock, pool }: Deps,
  { input, runId, workflowId }: { input: ReconcileInput; runId: string; workflowId: string },
): Promise<{
  /** What is wrong with the input; then the other fields are empty. */
  problems: string[];
  from: string;
  to: string;
}> {
  const parsed = reconcileInput.safeParse(input, IN_PLAIN_WORDS);
  const problems = (parsed.error?.issues ?? []).map(issueText);
  if (parsed.success && parsed.data.mode !== mode) {
    problems.push(otherModeText('The reconciliation is for', input.mode, mode));
  }
  if (problems.length > 0) return { problems, from: '', to: '' };
  const to = input.to ?? isoFromFilingDate(filingDateInKolkata(clock()));
  const from = input.from ?? isoFromFilingDate(addDays(filingDateFromIso(to), 1 - WINDOW_DAYS));
  await startRun(pool, { runId, mode, workflowId, exporterId: input.exporterId ?? null, from, to });
  return { problems: [], from, to };
}

/** The next companies to compare, or the one of a named exporter. `next` is null after the last page. */
async function companiesToReconcile(
  { pool, mode }: Deps,
  args: { exporterId?: string; after: string; limit: number },
): Promise<{ companies: CompanyToReconcile[]; next: string | null }> {
  if (args.exporterId !== undefined) {
    const company = await companyToReconcile(pool, args.exporterId);
    return { companies: company ? [company] : [], next: null };
  }
  const companies = await companiesAfter(pool, { mode, after: args.after, limit: args.limit });
  return { companies, next: companies.length < args.limit ? null : (companies.at(-1)?.key ?? null) };
}

/** Cuts a span into windows. Those that ended over a week ago and have no open finding are not read twice a day. */
async function certificateWindows(
  { pool, clock, mode }: Deps,
  args: { iec: string; from: string; to: string },
): Promise<{ read: Pick<WindowRead, 'from' | 'to'>[]; known: WindowRead[] }> {
  const windows = splitWindow(filingDateFromIso(args.from), filingDateFromIso(args.to)).map((window) => ({
    from: isoFromFilingDate(window.from),
    to: isoFromFilingDate(window.to),
  }));
  const readings = await readingsOfSpans(pool, { mode, iec: args.iec, spans: windows });
  const known = windows.flatMap((window, index) => {
    const { readAt = null, open = true } = readings[index] ?? {};
    const quiet = Date.parse(`${window.to}T00:00:00Z`) < clock() - QUIET_AFTER_MS;
    const lately = readAt !== null && quiet && !open && readAt > clock() - DAY_MS;
    return lately ? [{ ...window, readAt, whole: true }] : [];
  });
  return { read: windows.filter(({ from }) => !known.some((window) => window.from === from)), known };
}

/** Hashes a company's next stored PDFs for about a minute. `after`: when the check began. `each`: checks all PDFs. */
async function checkDocuments(
  { pool, documents, mode }: Deps,
  { iec, after, each }: { iec: string; after: string; each: boolean },
): Promise<{ next: string | null }> {
  const until = performance.now() + CHECK_DOCUMENTS_MS;
  const began = after === '' ? await readClock(pool) : new Date(after);
  for (;;) {
    const stored = await storedPdfs(pool, { mode, iec, began, limit: DOCUMENTS_AT_ONCE, each });
    const checks: PdfCheck[] = [];
    for (const { eBRCNumber, document, sha256 } of stored) {
      Context.current().heartbeat();
      const found = (await readWithHash(documents, document))?.sha256 ?? null;
      checks.push({ eBRCNumber, found, problem: found === null ? 'missing' : found === sha256 ? null : 'damaged' });
    }
    await savePdfChecks(pool, { mode, iec, checks });
    if (stored.length < DOCUMENTS_AT_ONCE) return { next: null };
    if (performance.now() > until) return { next: began.toISOString() };
  }
}

async function compareLedger(
  { pool, mode, settings, logger }: Deps,
  args: { iec: string | null; exporterId: string; checks: ReconcileCheck[]; windows: WindowRead[] },
) {
  const compared = await compareCompany(pool, { mode, overdueAfterMs: settings.overdueAfterMs, ...args });
  logger.info({ exporterId: args.exporterId, ...compared }, 'reconciled');
  return compared;
}

/** Prepares a missing or damaged PDF to be fetched again. @returns `fetch` false if nothing is wrong with it */
async function prepareRefetch(
  { pool, documents, mode }: Deps,
  { iec, eBRCNumber }: { iec: string; eBRCNumber: string },
): Promise<{ fetch: boolean }> {
  const certificate = { mode, iec, eBRCNumber };
  const problem = await pdfProblem(pool, certificate);
  if (problem === null) return { fetch: false };
  // Move the file first, because a download reuses a file of that name and would take the damaged one.
  if (problem === 'damaged') await documents.setAside({ name: eBRCNumber, kind: 'pdf', mode });
  await markPdfMissing(pool, certificate);
  return { fetch: true };
}

async function endReconciliation(
  { pool, mode }: Deps,
  { runId, exporterId, result }: { runId: string; exporterId?: string; result: ReconcileResult },
): Promise<{ counts: Record<FindingKind, number> }> {
  const exporters = exporterId === undefined ? null : [exporterId.toLowerCase()];
  const counts = await countFindings(pool, { mode, exporters });
  await endRun(pool, { runId, result: { ...result, counts } });
  return { counts };
}

export const reconciliationActivities = {
  planReconciliation,
  companiesToReconcile,
  certificateWindows,
  checkDocuments,
  compareLedger,
  prepareRefetch,
  endReconciliation,

  repairsOf: ({ pool, mode }: Deps, { iec }: { iec: string }) =>
    repairable(pool, { mode, iec, limit: REPAIRS_PER_RUN }),

  noteHealed: async (
    { pool, mode }: Deps,
    { healed, ...key }: { iec: string; kind: FindingKind; subject: string; healed: string },
  ) => {
    await noteHealed(pool, { mode, ...key }, healed);
    return {};
  },
};
