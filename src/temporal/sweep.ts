/** Finds open filings whose workflow is closed, missing or stuck, which the workflow itself cannot report. */
import { WorkflowIdConflictPolicy } from '@temporalio/common';
import { HOUR_MS, MINUTE_MS } from '../domain/dates';
import { openFilingsAfter } from '../ledger/filings/open-filings';
import { endedWithRequests } from '../ledger/submissions/requests';
import { checkRun, type SweepDependencies } from './filing-runs';

export interface Swept {
  filings: number;
  resumed: string[];
  /** Filings for which a new problem of the run was recorded. */
  reported: string[];
  /** Ended filings whose requests are polled. */
  followed: string[];
}

const PAGE = 100;

/**
 * Checks every open filing's run ({@link checkRun}). Several workers may sweep concurrently. `reported`: checks only
 * runs with a problem, or that ended lately. @throws if Temporal cannot be queried
 */
export async function sweepFilings(
  deps: SweepDependencies,
  { signal, reported = false }: { signal?: AbortSignal; reported?: boolean } = {},
): Promise<Swept> {
  const { pool, mode } = deps;
  const swept: Swept = { filings: 0, resumed: [], reported: [], followed: [] };
  const workflows = reported ? await endedLately(deps) : undefined;
  let after = '';
  for (;;) {
    const page = await openFilingsAfter(pool, { mode, after, limit: PAGE, workflows });
    for (const filing of page) {
      if (signal?.aborted) return swept;
      swept.filings += 1;
      const { resumed, reported } = await checkRun(deps, filing);
      if (resumed) swept.resumed.push(filing.filingId);
      if (reported) swept.reported.push(filing.filingId);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    after = last.filingId;
  }
  if (!reported) swept.followed = await followEnded(deps);
  return swept;
}

/** Long enough for Temporal's delayed lists and for the difference of the clocks. */
const ENDED_LATELY_MS = 10 * 60_000;

/** Workflow ids of filings whose newest run failed or timed out lately. */
async function endedLately({ temporal, taskQueue, clock }: SweepDependencies): Promise<string[]> {
  const since = new Date(clock() - ENDED_LATELY_MS).toISOString();
  const query =
    `WorkflowType = 'fileRemittances' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' ` +
    `AND ExecutionStatus IN ('TimedOut', 'Failed') AND CloseTime > '${since}'`;
  const ids: string[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query, pageSize: PAGE })) {
    if (ids.push(workflowId) === PAGE) break;
  }
  return ids;
}

/** A request is polled again only after this time, also by a worker that takes the sweep over. */
const ASKED_LATELY_MS = 30 * 60_000;

/** Starts workflows that follow the remaining requests of ended filings. */
async function followEnded({ pool, mode, temporal, taskQueue, clock }: SweepDependencies): Promise<string[]> {
  const before = new Date(clock() - ASKED_LATELY_MS);
  const ended = await endedWithRequests(pool, { mode, before, limit: PAGE });
  for (const { filingId, exporterId, workflowId, submissions } of ended) {
    await temporal.workflow.start('followEndedFiling', {
      workflowId: `${workflowId}/requests`,
      taskQueue,
      args: [{ filingId, exporterId, submissions }],
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    });
  }
  return ended.map(({ filingId }) => filingId);
}

/** The sweep as a job of the leading worker, at its start and hourly. `onSwept` gets each result. */
export function filingSweepJob(deps: SweepDependencies, onSwept: (swept: Swept) => void = () => undefined) {
  return {
    id: 'sweep_filings',
    name: 'find filings whose workflow is closed, missing or stuck',
    everyMs: HOUR_MS,
    run: async (signal: AbortSignal) => {
      const swept = await sweepFilings(deps, { signal });
      onSwept(swept);
      const { filings, resumed, reported } = swept;
      if (resumed.length + reported.length > 0) {
        deps.logger.warn({ filings, resumed: resumed.length, reported: reported.length }, 'sweep of open filings');
      }
    },
  };
}

/** Checks runs that ended lately, and reported ones again, so that no report outlasts its problem. */
export function reportedRunsJob(deps: SweepDependencies) {
  return {
    id: 'reported_runs',
    name: 'look again at workflows that had a problem',
    everyMs: MINUTE_MS,
    run: async (signal: AbortSignal) => {
      await sweepFilings(deps, { signal, reported: true });
    },
  };
}
