/** Finds open filings whose run is gone or fails, which the run itself cannot say. */
import { HOUR_MS, MINUTE_MS } from '../domain/dates';
import { filingName } from '../domain/names';
import { noteRunProblem, openFilings, openFilingsOf, type OpenFiling } from '../ledger/runs';
import type { ComparisonDependencies } from './comparison';
import { describeRun, FILING_WORKFLOW, startRun, type RunStatus } from './runs';

export interface Swept {
  filings: number;
  resumed: string[];
  /** Filings for which a new problem of the run was found. */
  reported: string[];
}

const PAGE = 100;
/** A workflow task that was tried this often fails: an SDK tries again at once, then slower. */
const TASK_FAILS_AFTER = 10;

export type RunVerdict = { do: 'nothing' } | { do: 'start'; why: string } | { do: 'report'; problem: string };

/**
 * What may have arrived gets a new run, and so does what ended by itself. An unsent filing that somebody ended, or
 * whose run Temporal does not know any more, waits for a person.
 */
export function judgeRun(filing: OpenFiling, { status, taskAttempt }: RunStatus): RunVerdict {
  if (status === 'running') {
    if (taskAttempt < TASK_FAILS_AFTER) return { do: 'nothing' };
    const problem = `A step of its workflow fails again and again (${taskAttempt} times so far): see the Temporal UI and the worker's log. Nothing is lost; it goes on once the cause is gone.`;
    return { do: 'report', problem };
  }
  const why = status === 'gone' ? 'Temporal knows no run of it' : `its run ${ENDED[status]}`;
  if (filing.maybeFiled || status === 'completed' || status === 'failed' || status === 'timed out')
    return { do: 'start', why };
  return { do: 'report', problem: `Nothing of it was sent, and ${why}. To go on: ebrc resume ${filingName(filing)}` };
}

const ENDED = {
  completed: 'ended although the filing is open',
  failed: 'failed',
  cancelled: 'was cancelled',
  terminated: 'was terminated',
  'timed out': 'timed out',
} as const;

/** Looks after one filing's run. @throws if Temporal cannot be asked */
async function checkRun(
  { pool, temporal, taskQueue, logger }: Omit<ComparisonDependencies, 'mode'>,
  filing: OpenFiling,
): Promise<RunVerdict['do']> {
  const { filingId, workflowId } = filing;
  const verdict = judgeRun(filing, await describeRun(temporal, workflowId));
  const isNew = await noteRunProblem(pool, filing, verdict.do === 'report' ? verdict.problem : null);
  if (verdict.do === 'report') {
    if (isNew) logger.warn({ filingId, workflowId, problem: verdict.problem }, 'the run of a filing needs attention');
    return isNew ? 'report' : 'nothing';
  }
  if (verdict.do === 'nothing' || !(await startRun(temporal, taskQueue, filing))) return 'nothing';
  logger.warn({ filingId, workflowId, why: verdict.why }, 'a new run was started for a filing that had lost its run');
  return 'start';
}

/**
 * Checks the runs of open filings past their time and of those whose run was ended lately; `failing`: only those whose
 * run failed lately, or was found to have a problem. @throws if Temporal cannot be asked
 */
export async function sweepFilings(
  deps: ComparisonDependencies,
  { signal, failing = false }: { signal?: AbortSignal; failing?: boolean } = {},
): Promise<Swept> {
  const { pool, mode } = deps;
  const swept: Swept = { filings: 0, resumed: [], reported: [] };
  const check = async (page: readonly OpenFiling[]) => {
    for (const filing of page) {
      if (signal?.aborted) return;
      swept.filings += 1;
      const done = await checkRun(deps, filing);
      if (done === 'start') swept.resumed.push(filing.filingId);
      if (done === 'report') swept.reported.push(filing.filingId);
    }
  };
  await check(await openFilingsOf(pool, mode, await endedLately(deps, failing)));
  if (failing) return swept;
  for (let after = ''; ;) {
    const page = await openFilings(pool, { mode, after, limit: PAGE, due: true });
    await check(page);
    const last = page.at(-1);
    if (!last || page.length < PAGE || signal?.aborted) return swept;
    after = last.filingId;
  }
}

/** Longer than a sweep's interval and the delay of Temporal's lists. */
const ENDED_WITHIN_MS = 2 * HOUR_MS;
const MOST_ENDED = 1_000;

/** Workflow ids of filings whose run did not complete lately; `failing`: only those that failed by themselves. */
async function endedLately({ temporal, taskQueue }: ComparisonDependencies, failing: boolean): Promise<string[]> {
  const statuses = failing ? "'Failed', 'TimedOut'" : "'Failed', 'TimedOut', 'Terminated', 'Canceled'";
  const since = new Date(Date.now() - (failing ? 10 * MINUTE_MS : ENDED_WITHIN_MS)).toISOString();
  const query =
    `WorkflowType = '${FILING_WORKFLOW}' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' ` +
    `AND ExecutionStatus IN (${statuses}) AND CloseTime > '${since}'`;
  const ids: string[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query, pageSize: PAGE })) {
    if (ids.push(workflowId) === MOST_ENDED) break;
  }
  return ids;
}

/** The sweep as jobs of the leading worker: hourly, and each minute for runs that failed. */
export function sweepJobs(deps: ComparisonDependencies, onSwept: (swept: Swept) => void = () => undefined) {
  const sweep = (failing: boolean) => async (signal: AbortSignal) => {
    const swept = await sweepFilings(deps, { signal, failing });
    onSwept(swept);
    const { filings, resumed, reported } = swept;
    if (resumed.length + reported.length > 0)
      deps.logger.warn({ filings, resumed: resumed.length, reported: reported.length }, 'sweep of open filings');
  };
  return [
    { id: 'sweep_filings', name: 'find filings whose run is gone', everyMs: HOUR_MS, run: sweep(false) },
    { id: 'failing_runs', name: 'look after runs that failed', everyMs: MINUTE_MS, run: sweep(true) },
  ];
}
