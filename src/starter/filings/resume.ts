/** `ebrc resume`: continues filings whose workflow has ended or is missing. */
import { isEnd } from '../../domain/filing/states';
import { openFiling, openFilingsAfter, type OpenFilingRun } from '../../ledger/filings/open-filings';
import { forgetSetAside } from '../../ledger/set-aside';
import { describeRun, resumeOptions, startFilingRun } from '../../temporal/filing-runs';
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

/** Starts a run that continues a filing. Ended filings, and those whose workflow has a worker, are left unchanged. */
export async function resumeFiling(deps: EbrcClientDependencies, idOrReference: string): Promise<ResumedRun> {
  const { filingId, workflowId, reference, state } = await filingOf(deps, idOrReference);
  const open = isEnd(state) ? null : await openFiling(deps.pool, filingId);
  if (open) return resume(deps, open);
  const message = `It has ended: ${state}.`;
  return { filingId, workflowId, reference, state, resumed: false, message };
}

/** Starts a run for every open filing whose workflow is not running. @returns the filings that were resumed */
export async function resumeAll(deps: EbrcClientDependencies): Promise<ResumedRun[]> {
  const { pool, mode } = deps;
  const resumed: ResumedRun[] = [];
  for (let after = ''; ;) {
    const page = await openFilingsAfter(pool, { mode, after, limit: PAGE });
    for (const filing of page) {
      const outcome = await resume(deps, filing);
      if (outcome.resumed) resumed.push(outcome);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return resumed;
    after = last.filingId;
  }
}

async function resume(
  { pool, temporal, taskQueue }: EbrcClientDependencies,
  filing: OpenFilingRun,
): Promise<ResumedRun> {
  const { filingId, workflowId, reference, state } = filing;
  const { status, taskQueue: runsOn = taskQueue } = await describeRun(temporal, workflowId);
  const options: Parameters<typeof startFilingRun>[2] = resumeOptions(filing, taskQueue);
  if (status === 'running') {
    // A program with another EBRC_TASK_QUEUE started it. With a worker on that queue it may be another installation's.
    const isLeft = runsOn !== taskQueue && (await pollersOf(temporal, runsOn, 'workflow')) === 0;
    if (!isLeft) {
      const where = runsOn === taskQueue ? '' : ` on task queue ${runsOn}, where a worker takes it`;
      return { filingId, workflowId, reference, state, resumed: false, message: `Its workflow is running${where}.` };
    }
    options.workflowIdConflictPolicy = 'TERMINATE_EXISTING';
  }
  await forgetSetAside(pool, workflowId);
  await startFilingRun(temporal, filing, options);
  return { filingId, workflowId, reference, state, resumed: true, message: null };
}
