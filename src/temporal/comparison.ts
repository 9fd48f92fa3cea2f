/** Compares the ledger with what Temporal knows of its filings, after which it may send. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import { HOUR_MS, MINUTE_MS } from '../domain/dates';
import { FILING_STATES } from '../domain/filing/states';
import { filingWorkflowId, type Mode } from '../domain/names';
import { beatEveryMs, doubtIfLost, raiseBeat, readLedgerTime, type SeenTime } from '../ledger/time';
import {
  missingRuns,
  noteNotCompared,
  readStanding,
  runsOfFindings,
  storeComparison,
  type RecordedRun,
  type Standing,
} from '../ledger/went-back';
import { isGrpcStatus } from './grpc-status';
import { FILING_WORKFLOW } from './runs';

export interface ComparisonDependencies {
  pool: pg.Pool;
  temporal: Client;
  mode: Mode;
  taskQueue: string;
  logger: Logger;
}

export interface Comparison {
  /** Whether the ledger is whole now. */
  whole: boolean;
  missing: RecordedRun[];
  /** Why nothing could be compared; null: it was. */
  problem: string | null;
}

/** Temporal's lists lag behind, and its clock may differ from PostgreSQL's. */
const MARGIN_MS = 10 * MINUTE_MS;
/** After a change of the epoch, Temporal's lists get this long to show the last runs. */
const LAG_MS = 10_000;
const BATCH = 500;

/**
 * Compares all open runs, and those that closed since the last comparison that found everything. Nothing changes where
 * Temporal does not answer. @throws if PostgreSQL fails
 */
export async function compareLedger(
  deps: ComparisonDependencies,
  { lagMs = LAG_MS, signal }: { lagMs?: number; signal?: AbortSignal } = {},
): Promise<Comparison> {
  const { pool, mode, logger } = deps;
  const standing = await readStanding(pool, mode);
  if (!standing.compared) await sleep(lagMs, undefined, { signal, ref: false });
  const missing: RecordedRun[] = [];
  const noted = await runsOfFindings(pool, mode);
  const found = new Map(noted.map((run) => [run.runId, run]));
  const compare = async (runs: RecordedRun[]) => {
    const lost = await missingRuns(pool, mode, runs);
    for (const run of lost) {
      found.delete(run.runId);
      missing.push(run);
    }
  };
  try {
    const listed = new Set<string>();
    for await (const runs of batches(recordedRuns(deps, standing))) {
      for (const { runId } of runs) listed.add(runId);
      await compare(runs);
    }
    await compare(noted.filter(({ runId }) => !listed.has(runId)));
  } catch (error) {
    if (!(error instanceof TemporalUnreadable)) throw error;
    logger.warn({ problem: error.message }, 'the ledger could not be compared with Temporal');
    if (!standing.whole) await noteNotCompared(pool, mode, error.message);
    return { whole: standing.whole, missing: [], problem: error.message };
  }
  const whole = await storeComparison(pool, { mode, standing, missing, found: [...found.values()] });
  if (whole === null) return { whole: false, missing, problem: 'the server of the ledger changed meanwhile' };
  if (missing.length > 0)
    logger.error(
      { missing: missing.length },
      'the ledger went back: it lacks filings that Temporal knows; nothing is sent',
    );
  else if (!standing.whole) logger.info({ epoch: standing.epoch, whole }, 'the ledger has all that Temporal knows');
  return { whole, missing, problem: null };
}

/** Temporal cannot say which runs there were. */
class TemporalUnreadable extends Error {
  override readonly name = 'TemporalUnreadable';
}

/** Runs of our queue and mode that the ledger recorded: open, or closed since. @throws TemporalUnreadable */
export async function* recordedRuns(
  { temporal, mode, taskQueue }: Pick<ComparisonDependencies, 'temporal' | 'mode' | 'taskQueue'>,
  { sinceMs, restoredMs }: Pick<Standing, 'sinceMs' | 'restoredMs'>,
): AsyncGenerator<RecordedRun> {
  const since = new Date(Math.max(0, (sinceMs ?? 0) - MARGIN_MS, restoredMs ?? 0)).toISOString();
  const query =
    `WorkflowType = '${FILING_WORKFLOW}' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' ` +
    `AND (EbrcMode = '${mode}' OR EbrcMode IS NULL) AND EbrcState IS NOT NULL AND (ExecutionStatus = 'Running' OR CloseTime > '${since}')`;
  try {
    for await (const run of temporal.workflow.list({ query, pageSize: BATCH })) {
      const recorded = recordedRun(mode, run);
      if (recorded) yield recorded;
    }
  } catch (error) {
    const unregistered = isGrpcStatus(error, 'INVALID_ARGUMENT');
    const why = error instanceof Error ? error.message : String(error);
    throw new TemporalUnreadable(unregistered ? `its search attributes are not registered (${why})` : why);
  }
}

function recordedRun(mode: Mode, run: WorkflowExecutionInfo): RecordedRun | null {
  const { workflowId, runId, status, startTime, closeTime, searchAttributes } = run;
  const [state] = (searchAttributes['EbrcState'] ?? []) as unknown[];
  // A run that was refused recorded nothing; one that continued as new has a newer run.
  if (!(FILING_STATES as readonly unknown[]).includes(state) || status.name === 'CONTINUED_AS_NEW') return null;
  const [reference] = (searchAttributes['EbrcReference'] ?? []) as unknown[];
  const [requestId] = (searchAttributes['EbrcRequestId'] ?? []) as unknown[];
  return {
    workflowId,
    runId,
    reference: typeof reference === 'string' ? reference : referenceIn(mode, workflowId),
    state: state as string,
    requestId: typeof requestId === 'string' ? requestId : null,
    startedAt: startTime.toISOString(),
    closedAt: closeTime?.toISOString() ?? null,
    completed: status.name === 'COMPLETED',
  };
}

/** The reference in a workflow id of ours; null for an id that a caller chose. */
function referenceIn(mode: Mode, workflowId: string): string | null {
  const prefix = filingWorkflowId(mode, '');
  const name = workflowId.startsWith(prefix) ? workflowId.slice(prefix.length).split('/', 1)[0] : undefined;
  return name ? name.replaceAll('%2F', '/').replaceAll('%25', '%') : null;
}

async function* batches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    if (batch.push(item) < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Raises the beat, in every worker: PostgreSQL lets one do it at a time. Before that it is compared with what this
 * process saw, because a raised beat hides that an older copy of the ledger was brought back.
 */
export function beatJob({
  pool,
  mode,
  seen,
  settleAfterMs,
  logger,
}: Pick<ComparisonDependencies, 'pool' | 'mode' | 'logger'> & { seen: SeenTime; settleAfterMs: number }) {
  return {
    id: 'beat',
    name: 'raise the beat of the ledger',
    everyMs: beatEveryMs(settleAfterMs),
    run: async () => {
      const now = await readLedgerTime(pool, mode);
      const before = seen.of(now.epoch);
      if (before && (await doubtIfLost(pool, [before], now)))
        logger.error(
          { before: before.beat },
          'the beat of the ledger fell: it went back, and is compared with Temporal',
        );
      seen.note(await raiseBeat(pool, beatEveryMs(settleAfterMs)));
    },
  };
}

/** Compares at its start, hourly, and while the ledger is not whole. A job of the leading worker. */
export function comparisonJob(deps: ComparisonDependencies & { settleAfterMs: number; lagMs?: number }) {
  let comparedAt = -Infinity;
  return {
    id: 'compare_ledger',
    name: 'compare the ledger with Temporal',
    everyMs: beatEveryMs(deps.settleAfterMs),
    run: async (signal: AbortSignal) => {
      const due = performance.now() - comparedAt >= HOUR_MS;
      if (!due && (await readStanding(deps.pool, deps.mode)).whole) return;
      const { problem } = await compareLedger(deps, { lagMs: deps.lagMs, signal });
      if (problem === null) comparedAt = performance.now();
    },
  };
}
