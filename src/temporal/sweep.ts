/** Finds open filings whose run is gone or fails, which the run itself cannot say. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../domain/dates';
import { filingName } from '../domain/names';
import { forEachLimited, groupBy } from '../domain/values';
import {
  closeProblemsOfEnded,
  filingForRun,
  noteRunProblem,
  openFilings,
  openFilingsOf,
  type OpenFiling,
  type RunProblem,
} from '../ledger/runs';
import type { ComparisonDependencies } from './comparison';
import { FAILS_AFTER, failureForLog, isNondeterminism, readTaskFailures, type TaskFailures } from './failing';
import { describeRun, FILING_WORKFLOW, startRun, type RunStatus } from './runs';

export interface Swept {
  filings: number;
  /** Filings whose run was gone and that got a new one. */
  resumed: string[];
  /** Filings whose failing run was replaced. */
  replaced: string[];
  /** Filings for which a new problem of the run was found. */
  reported: string[];
  /** Where the next sweep goes on; empty: at the beginning. */
  next: string;
}

const PAGE = 100;
/** Descriptions that are asked for at once. */
const AT_ONCE = 8;
/** Open filings that one sweep looks at, unless it finds something new: then it looks at all. */
const IN_TURN = 300;

export type RunVerdict =
  | { do: 'nothing' }
  | { do: 'start'; why: string }
  | { do: 'report'; problem: RunProblem }
  /** Its workflow tasks fail: its history tells why. */
  | { do: 'look' };

/**
 * What may have arrived gets a new run, and so does what ended by itself. An unsent filing that somebody ended, or
 * whose run Temporal does not know any more, waits for a person.
 */
export function judgeRun(filing: OpenFiling, { status, taskAttempt, calls }: RunStatus): RunVerdict {
  if (status === 'running') {
    if (taskAttempt >= FAILS_AFTER) return { do: 'look' };
    const call = calls.find(({ defect, attempt }) => defect !== null && attempt >= FAILS_AFTER);
    if (!call) return { do: 'nothing' };
    const text = `Its call ${call.name} fails with a defect at every try (${call.attempt - 1} so far): ${call.defect}. It is tried again by itself; a build that mends it is needed, see "A build that fails" in docs/operations.md.`;
    return { do: 'report', problem: { kind: 'run_failing', text } };
  }
  const why = status === 'gone' ? 'Temporal knows no run of it' : `its run ${ENDED[status]}`;
  if (filing.maybeFiled || status === 'completed' || status === 'failed' || status === 'timed out')
    return { do: 'start', why };
  const text = `Nothing of it was sent, and ${why}. To go on: ebrc resume ${filingName(filing)}`;
  return { do: 'report', problem: { kind: 'filing_without_workflow', text } };
}

const ENDED = {
  completed: 'ended although the filing is open',
  failed: 'failed',
  cancelled: 'was cancelled',
  terminated: 'was terminated',
  'timed out': 'timed out',
} as const;

/** A filing whose workflow tasks fail. */
interface Failing extends TaskFailures {
  filing: OpenFiling;
}

const failingText = (attempts: number, { error, begun }: TaskFailures): string =>
  `Its workflow fails at every try (${attempts - 1} so far): ${error ?? 'its tasks time out'}. Nothing is sent. ` +
  `${begun ? 'A new run goes on from the ledger' : 'It goes on'} as soon as the build in charge can do that; see "A build that fails" in docs/operations.md.`;

class Sweep {
  readonly swept: Swept = { filings: 0, resumed: [], replaced: [], reported: [], next: '' };
  private readonly failing: Failing[] = [];
  private readonly seen = new Set<string>();

  constructor(
    private readonly deps: ComparisonDependencies,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async look(filings: readonly OpenFiling[]): Promise<void> {
    const fresh = filings.filter(({ filingId }) => !this.seen.has(filingId));
    await forEachLimited(fresh, AT_ONCE, async (filing) => {
      if (this.signal?.aborted) return;
      this.seen.add(filing.filingId);
      this.swept.filings += 1;
      await this.lookAt(filing);
    });
  }

  private async lookAt(filing: OpenFiling): Promise<void> {
    const { pool, temporal, taskQueue, logger } = this.deps;
    const { filingId, workflowId } = filing;
    const run = await describeRun(temporal, workflowId);
    const verdict = judgeRun(filing, run);
    if (verdict.do === 'look') {
      const failures = await readTaskFailures(temporal, workflowId);
      this.failing.push({ filing, ...failures });
      return this.report(
        filing,
        { kind: 'run_failing', text: failingText(run.taskAttempt, failures) },
        failures.error ?? 'its tasks time out',
      );
    }
    if (verdict.do === 'report') return this.report(filing, verdict.problem, verdict.problem.text);
    if (verdict.do === 'nothing')
      return void (await noteRunProblem(
        pool,
        filing,
        null,
        filing.problems.length > 0 ? 'its run goes on' : undefined,
      ));
    // It may have ended since it was listed, and its run with it.
    if ((await filingForRun(pool, filingId))?.closed !== false || !(await startRun(temporal, taskQueue, filing)))
      return;
    await noteRunProblem(pool, filing, null, 'a new run was started');
    logger.warn({ filingId, workflowId, why: verdict.why }, 'a new run was started for a filing that had lost its run');
    this.swept.resumed.push(filingId);
  }

  private async report(filing: OpenFiling, problem: RunProblem, error: string): Promise<void> {
    const { pool, logger } = this.deps;
    const { filingId, workflowId } = filing;
    if (!(await noteRunProblem(pool, filing, problem))) return;
    const said = problem.kind === 'run_failing' ? failureForLog(error) : problem.text;
    logger.error({ filingId, workflowId, problem: said }, 'the run of a filing needs attention');
    this.swept.reported.push(filingId);
  }

  /**
   * Replaces runs whose tasks fail, once a new run can go on from the ledger in the build in charge: of those that fail
   * alike, one is replaced first, and the others when it begins. One that has not begun goes first: it loses nothing.
   */
  async replaceFailing(): Promise<void> {
    const alike = groupBy(this.failing, ({ error }) => (isNondeterminism(error) ? 'nondeterminism' : (error ?? '')));
    for (const group of alike.values()) {
      const [first, ...others] = [...group].sort((one, other) => Number(one.begun) - Number(other.begun));
      if (!first || this.signal?.aborted) return;
      await this.replace(first);
      if (!(await begins(this.deps, first.filing.workflowId))) continue;
      await forEachLimited(others, AT_ONCE, (each) => this.replace(each));
    }
  }

  private async replace({ filing, error }: Failing): Promise<void> {
    const { pool, temporal, taskQueue, logger } = this.deps;
    const { filingId, workflowId } = filing;
    if ((await filingForRun(pool, filingId))?.closed !== false) return;
    if (!(await startRun(temporal, taskQueue, filing, { terminate: true }))) return;
    logger.warn(
      { filingId, workflowId, why: failureForLog(error ?? 'its tasks time out') },
      'the run of a filing failed at every try; a new one takes over from the ledger',
    );
    this.swept.replaced.push(filingId);
  }
}

const BEGINS_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 250;

/** Whether the newest run of a workflow completes a task soon. */
async function begins({ temporal }: ComparisonDependencies, workflowId: string): Promise<boolean> {
  for (const until = Date.now() + BEGINS_WITHIN_MS; Date.now() < until; await sleep(LOOK_EVERY_MS)) {
    const { begun, error } = await readTaskFailures(temporal, workflowId);
    if (begun || error !== null) return begun;
  }
  return false;
}

/**
 * Looks after the runs of open filings: those that ended lately, those that had a problem, and the others in turn, all
 * of them where something new was found. @param after where the last sweep ended @throws if Temporal cannot be asked
 */
export async function sweepFilings(
  deps: ComparisonDependencies,
  { signal, after = '', inTurn = Infinity }: { signal?: AbortSignal; after?: string; inTurn?: number } = {},
): Promise<Swept> {
  const { pool, mode } = deps;
  const sweep = new Sweep(deps, signal);
  const { swept } = sweep;
  await closeProblemsOfEnded(pool, mode);
  await sweep.look(await openFilingsOf(pool, mode, await endedLately(deps)));
  let last: string | undefined = after;
  for (let looked = 0; last !== undefined && (looked < inTurn || swept.reported.length > 0); looked += PAGE) {
    const page: OpenFiling[] = await openFilings(pool, { mode, after: last, limit: PAGE });
    await sweep.look(page);
    if (signal?.aborted) return swept;
    last = page.length < PAGE ? undefined : page.at(-1)?.filingId;
  }
  swept.next = last ?? '';
  await sweep.replaceFailing();
  return swept;
}

/** Longer than a sweep's interval and the delay of Temporal's lists. */
const ENDED_WITHIN_MS = 10 * MINUTE_MS;
const MOST_ENDED = 1_000;

/** Workflow ids of filings whose run did not complete lately. */
async function endedLately({ temporal, taskQueue }: ComparisonDependencies): Promise<string[]> {
  const since = new Date(Date.now() - ENDED_WITHIN_MS).toISOString();
  const query =
    `WorkflowType = '${FILING_WORKFLOW}' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' ` +
    `AND ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated', 'Canceled') AND CloseTime > '${since}'`;
  const ids: string[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query, pageSize: PAGE })) {
    if (ids.push(workflowId) === MOST_ENDED) break;
  }
  return ids;
}

/** The sweep as a job of the leading worker. */
export function sweepJob(deps: ComparisonDependencies, onSwept: (swept: Swept) => void = () => undefined) {
  let after = '';
  return {
    id: 'sweep_filings',
    name: 'look after the runs of open filings',
    everyMs: MINUTE_MS / 2,
    run: async (signal: AbortSignal) => {
      const swept = await sweepFilings(deps, { signal, after, inTurn: IN_TURN });
      after = swept.next;
      onSwept(swept);
    },
  };
}
