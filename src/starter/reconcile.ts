import { summaryText } from '../domain/text';
import { reconcileInput, type ReconcileResult } from '../domain/report-contracts';
import { FINDING_ID, type FindingView, type FindingKind } from '../domain/reconciliation/findings';
import { reconciliationBegun, reconciliationQuery } from '../workflows/messages';
import type { EbrcClientDependencies, LedgerDependencies } from './dependencies';
import { checkedInput, refusal } from './errors';
import { exporterIdOf, unknownExporter } from './lookup';
import { follow, pendingCallText } from '../temporal/follow';
import { acknowledgeFinding as acknowledgeInLedger, healedFindings, listFindings } from '../ledger/findings';
import { companyToReconcile } from '../ledger/reconciliation/runs';
import { exporterNames } from '../ledger/exporters/exporters';

export interface ReconcileRequest {
  exporter?: string;
  /** Range of issue dates as YYYY-MM-DD, both ends included. */
  from?: string;
  to?: string;
}

/** A run and its companies' findings that are open or were healed by it. Acknowledged ones are only counted. */
export interface ReconcileOutcome extends ReconcileResult {
  skipped: (ReconcileResult['skipped'][number] & { name: string })[];
  findings: FindingView[];
}

const STARTED_WITHIN_MS = 10_000;

/** Starts `reconcile`, or joins a running one of the same scope. @throws RefusedError for invalid dates */
export async function reconcile(
  deps: EbrcClientDependencies,
  { exporter, from, to }: ReconcileRequest = {},
  {
    wait = false,
    onProgress,
    onNotice,
  }: {
    /** Wait until the run ends; otherwise only until it begins. */
    wait?: boolean;
    /** `waits` says what the run waits for while it has compared no company yet; null if that is not known. */
    onProgress?: (progress: ReconcileResult, waits: string | null) => void;
    onNotice?: (notice: string) => void;
  } = {},
): Promise<ReconcileOutcome> {
  const { pool, mode, temporal, taskQueue } = deps;
  const exporterId = exporter === undefined ? undefined : await exporterIdOf(pool, mode, exporter);
  const input = checkedInput(reconcileInput, { mode, exporterId, from, to });
  const workflowId = `reconcile/${mode}/${exporterId ?? 'all'}/${from ?? ''}..${to ?? ''}`;
  const handle = await temporal.workflow.start('reconcile', {
    workflowId,
    taskQueue,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: summaryText(
      `Reconcile ${exporter ?? 'all companies'}${from ? ` from ${from}` : ''}${to ? ` to ${to}` : ''}`,
    ),
    staticDetails: 'Compares the ledger with the authority. Its findings: `ebrc findings`.',
  });
  const reportProgress = async (now: ReconcileResult) => {
    const converter = temporal.options.loadedDataConverter;
    // Only a hint, so a call that cannot be described is skipped; the run reports its own failure at its end.
    const waits =
      now.companies > 0 || now.state === 'done' ? null : await pendingCallText(handle, converter).catch(() => null);
    onProgress?.(now, waits);
  };
  const { progress } = await follow<ReconcileResult>(deps, workflowId, {
    query: reconciliationQuery,
    until: () => !wait,
    onProgress: (now) => void reportProgress(now),
    onNotice,
    ...(!wait && { withinMs: STARTED_WITHIN_MS }),
  });
  const result = progress ?? reconciliationBegun(handle.firstExecutionRunId, workflowId, input);
  const ids = result.skipped.map((exporter) => exporter.exporterId);
  const names = await exporterNames(pool, ids);
  const skipped = result.skipped.map((exporter) => ({
    ...exporter,
    name: names.get(exporter.exporterId) ?? exporter.exporterId,
  }));
  // An exporter that the ledger does not know has no findings to list.
  const unknown = exporterId !== undefined && ids.includes(exporterId) && !names.has(exporterId);
  if (unknown) return { ...result, skipped, findings: [] };
  const scope = { mode, exporters: exporterId === undefined ? null : [exporterId.toLowerCase()] };
  const open = await listFindings(pool, scope);
  const healed = await healedFindings(pool, { ...scope, runId: result.runId });
  return { ...result, skipped, findings: [...open, ...healed] };
}

export interface FindingsRequest {
  exporter?: string;
  /** Only findings of these exporters' companies (lower-cased ids); null for all. */
  exporters?: readonly string[] | null;
  kind?: FindingKind;
  all?: boolean;
  /** Id of the finding after which the list begins. */
  after?: string;
  /** Maximum number of findings; default: all. */
  limit?: number;
}

/** Findings, oldest first: open ones that nobody has acknowledged, or all of them. */
export async function findings(
  deps: LedgerDependencies,
  { exporter, ...filter }: FindingsRequest = {},
): Promise<FindingView[]> {
  const { pool, mode } = deps;
  if (filter.after !== undefined && !FINDING_ID.test(filter.after))
    throw refusal('unknown_finding', `${filter.after} is not the id of a finding. \`ebrc findings\` lists them.`);
  if (exporter === undefined) return listFindings(pool, { mode, ...filter });
  const exporterId = (await exporterIdOf(pool, mode, exporter)).toLowerCase();
  if (!(await companyToReconcile(pool, exporterId))) throw unknownExporter(exporter, mode);
  if (filter.exporters && !filter.exporters.includes(exporterId)) return [];
  return listFindings(pool, { mode, ...filter, exporters: [exporterId] });
}

/** Acknowledges a finding without closing it. @throws RefusedError if the finding is unknown or the note is empty */
export async function acknowledgeFinding(
  { pool, mode }: LedgerDependencies,
  finding: { id: string; note: string; by: string } & Pick<FindingsRequest, 'exporters'>,
): Promise<FindingView> {
  const { id, by, exporters } = finding;
  const note = finding.note.trim();
  if (note === '') throw refusal('note_missing', 'Give a note that says why the finding is no cause for concern.');
  const acknowledged = await acknowledgeInLedger(pool, { mode, id, by, note, exporters });
  if (acknowledged) return acknowledged;
  throw refusal(
    'unknown_finding',
    `There is no finding ${id} in ${mode} mode that a person can acknowledge. \`ebrc findings\` lists them.`,
  );
}
