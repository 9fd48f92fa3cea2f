/** `ebrc resume`: continues filings whose run has ended or is missing. */
import { isEnd } from '../../domain/filing/states';
import { filingForRun, openFilings, type OpenFiling } from '../../ledger/runs';
import { FAILS_AFTER, readTaskFailures } from '../../temporal/failing';
import { describeRun, startRun } from '../../temporal/runs';
import { pollersOf } from '../../temporal/workers-present';
import type { EbrcClientDependencies } from '../dependencies';
import { filingOf } from '../lookup';

export interface ResumedRun {
  filingId: string;
  workflowId: string;
  reference: string;
  /** Its state in the ledger before the new run. */
  state: string;
  /** Whether a new run was started. */
  resumed: boolean;
  message: string | null;
}

const PAGE = 100;

/** Starts a run that continues a filing. Ended filings, and those whose run goes on, are left unchanged. */
export async function resumeFiling(deps: EbrcClientDependencies, name: string): Promise<ResumedRun> {
  const { filingId, workflowId, reference, state } = await filingOf(deps, name);
  const open = isEnd(state) ? null : await filingForRun(deps.pool, filingId);
  if (open) return resume(deps, open);
  return { filingId, workflowId, reference, state, resumed: false, message: `It has ended: ${state}.` };
}

/** Starts a run for every open filing whose run is gone or fails. @returns the filings that were resumed */
export async function resumeAll(deps: EbrcClientDependencies): Promise<ResumedRun[]> {
  const { pool, mode } = deps;
  const resumed: ResumedRun[] = [];
  for (let after = ''; ;) {
    const page = await openFilings(pool, { mode, after, limit: PAGE });
    for (const filing of page) {
      const outcome = await resume(deps, filing);
      if (outcome.resumed) resumed.push(outcome);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return resumed;
    after = last.filingId;
  }
}

async function resume({ temporal, taskQueue }: EbrcClientDependencies, filing: OpenFiling): Promise<ResumedRun> {
  const { filingId, workflowId, reference, state } = filing;
  const about = { filingId, workflowId, reference, state };
  const { status, taskQueue: runsOn = taskQueue, taskAttempt } = await describeRun(temporal, workflowId);
  // A program with another EBRC_TASK_QUEUE started it. With a worker on that queue it may be another installation's.
  const isElsewhere = status === 'running' && runsOn !== taskQueue;
  const isLeft = isElsewhere && (await pollersOf(temporal, runsOn, 'workflow')) === 0;
  if (status === 'running' && taskAttempt >= FAILS_AFTER) {
    const { error } = await readTaskFailures(temporal, workflowId);
    const resumed = await startRun(temporal, taskQueue, filing, { terminate: true });
    const why = `Its run failed at every try (${error ?? 'its tasks time out'}); a new one goes on from the ledger.`;
    return { ...about, resumed, message: why };
  }
  if (status === 'running' && !isLeft) {
    const where = isElsewhere ? `, on task queue ${runsOn}, where a worker takes it` : '';
    return { ...about, resumed: false, message: `Its run goes on${where}.` };
  }
  const resumed = await startRun(temporal, taskQueue, filing, { terminate: isLeft });
  return { ...about, resumed, message: resumed ? null : 'Somebody else started a run meanwhile.' };
}
