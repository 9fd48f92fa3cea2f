/** Compares the ledger with the authority, party by party, and repairs what needs no person. */
import { ApplicationFailure, continueAsNew, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ReconcileInput, ReconcileResult } from '../../domain/contracts';
import { noFindings, RECONCILE_CHECKS, type ReconcileCheck } from '../../domain/reconciliation/reconciliation';
import { calls } from '../activity-profiles';
import { needInput } from '../need-input';
import { reconciliationQuery } from '../messages';
import { reconcileParty } from './reconcile-party';

/** About fifteen events a party and three more a repair: a page stays below 2,000. */
const PAGE = 25;
/** More would only wait in the queues, which order by exporter and not within one workflow. */
const AT_ONCE = 5;
/** The result is a payload with a limit; what is beyond is in the log. */
const SKIPPED_SHOWN = 1_000;

/** Where a run of many pages goes on; set by the workflow itself. */
export interface ReconcileResume {
  after: number;
  soFar: ReconcileResult;
}

/**
 * Reconciles one exporter's party, or all of them. Each is compared on its own: one that cannot be asked is noted with
 * the reason and never stops the others.
 */
export async function reconcile(input: ReconcileInput & { resume?: ReconcileResume }): Promise<ReconcileResult> {
  needInput('reconcile', input);
  const { resume, ...asked } = input;
  const { workflowId, firstExecutionRunId: runId } = workflowInfo();
  const result: ReconcileResult = resume?.soFar ?? {
    runId,
    workflowId,
    state: 'started',
    from: '',
    to: '',
    parties: 0,
    opened: 0,
    closed: 0,
    healed: 0,
    counts: noFindings(),
    skipped: [],
  };
  setHandler(reconciliationQuery, () => result);
  if (!resume) {
    const plan = await calls('ledger', { summary: 'Validate the input and its dates' }).planReconciliation({
      input: asked,
      runId,
      workflowId,
    });
    if (plan.problems.length > 0) throw ApplicationFailure.nonRetryable(plan.problems.join('; '), 'invalid_input');
    result.from = plan.from;
    result.to = plan.to;
  }
  const { exporterId } = asked;
  const page = await calls('ledger', { summary: 'List the parties to compare' }).partiesToReconcile({
    exporterId,
    after: resume?.after ?? 0,
    limit: PAGE,
  });
  const checks: ReconcileCheck[] = [...(asked.checks ?? RECONCILE_CHECKS)];
  const queue = [...page.parties];
  const lane = async (): Promise<void> => {
    for (let party = queue.shift(); party; party = queue.shift()) {
      const outcome = await reconcileParty(party, { from: result.from, to: result.to, checks });
      result.parties += 1;
      result.opened += outcome.opened;
      result.closed += outcome.closed;
      result.healed += outcome.healed;
      if (outcome.skipped && result.skipped.length < SKIPPED_SHOWN) {
        result.skipped.push({ exporterId: party.callAs, reason: outcome.skipped });
      }
      setCurrentDetails(
        `Parties compared: ${result.parties}. Findings opened ${result.opened}, closed ${result.closed}, healed ${result.healed}.`,
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  if (exporterId !== undefined && result.parties === 0) {
    const reason = 'the ledger does not know this exporter; onboard it, or give its id as `ebrc exporters` shows it';
    result.skipped.push({ exporterId, reason });
  }
  if (page.next !== null) {
    await continueAsNew<typeof reconcile>({ ...asked, resume: { after: page.next, soFar: result } });
  }
  result.state = 'done';
  const { counts } = await calls('ledger', { summary: 'Record the outcome' }).endReconciliation({
    runId: result.runId,
    exporterId,
    result,
  });
  result.counts = counts;
  return result;
}
