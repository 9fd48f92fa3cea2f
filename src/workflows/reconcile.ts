/** Compares the ledger with the authority, company by company, and makes the repairs that need no person. */
import { ApplicationFailure, continueAsNew, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ReconcileInput, ReconcileResult } from '../domain/report-contracts';
import { RECONCILE_CHECKS, type ReconcileCheck } from '../domain/reconciliation/findings';
import { calls } from './activity-profiles';
import { noteSkipped } from './failures';
import { needInput } from './inputs';
import { reconciliationBegun, reconciliationQuery } from './messages';
import { compareCompany, repairCompany, type ComparedCompany } from './exporter/reconcile-company';

/** The most companies that one run compares: about 35 events each without repairs. */
const PAGE = 25;
/** Beyond this no company or repair is started; what is under way adds at most 300 events, within a limit of 2,000. */
const LONG_HISTORY = 1_200;
/** More parallel calls would only wait in the task queues. */
const AT_ONCE = 5;
/** Temporal's own search attribute of workflows that a schedule started. */
const SCHEDULED_BY = { name: 'TemporalScheduledById', type: 'KEYWORD' } as const;

/** Reconciles one company or all. One that cannot be read is noted with the reason and stops no other. */
export async function reconcile(
  input: ReconcileInput & {
    resume?: {
      after: string;
      soFar: ReconcileResult;
      /** Companies that were compared and still have repairs to make. */
      unrepaired: ComparedCompany[];
    };
  },
): Promise<ReconcileResult> {
  const { resume, ...asked } = needInput('reconcile', input);
  const { workflowId, firstExecutionRunId: runId } = workflowInfo();
  const result: ReconcileResult = resume?.soFar ?? reconciliationBegun(runId, workflowId);
  setHandler(reconciliationQuery, () => result, { description: 'What was compared so far; the shape of its result' });
  setCurrentDetails('The companies are being compared one by one.');
  if (!resume) {
    const validation = calls('ledger', 'Validate the input and its dates');
    const plan = await validation.planReconciliation({ input: asked, runId, workflowId });
    if (plan.problems.length > 0) throw ApplicationFailure.nonRetryable(plan.problems.join('; '), 'invalid_input');
    result.from = plan.from;
    result.to = plan.to;
  }
  const { exporterId } = asked;
  // For one exporter a continued run only finishes the repairs of its company.
  const page =
    resume && exporterId !== undefined
      ? { companies: [], next: null }
      : await calls('ledger', 'List the companies to compare').companiesToReconcile({
          exporterId,
          after: resume?.after ?? '',
          limit: PAGE,
        });
  const checks: ReconcileCheck[] = [...(asked.checks ?? RECONCILE_CHECKS)];
  // A person's run checks each PDF; a scheduled one skips those that were intact recently, to spare the store.
  const eachDocument = workflowInfo().typedSearchAttributes.get(SCHEDULED_BY) === undefined;
  const hasRoom = () => workflowInfo().historyLength < LONG_HISTORY;
  const toRepair = [...(resume?.unrepaired ?? [])];
  const toCompare = [...page.companies];
  const unrepaired: ComparedCompany[] = [];
  let after = resume?.after ?? '';
  const nextCompany = async (): Promise<ComparedCompany | null> => {
    const compared = toRepair.shift();
    if (compared) return compared;
    const company = toCompare.shift();
    if (!company) return null;
    after = company.key;
    return compareCompany(company, { from: result.from, to: result.to, checks, eachDocument });
  };
  const lane = async (): Promise<void> => {
    while (hasRoom()) {
      const compared = await nextCompany();
      if (!compared) return;
      if (await repairCompany(compared, hasRoom)) note(result, compared);
      else unrepaired.push(compared);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  if (exporterId !== undefined && !resume && page.companies.length === 0) {
    const reason = 'the ledger does not know this exporter; onboard it, or give its id as `ebrc exporters` shows it';
    noteSkipped(result, exporterId, reason);
  }
  unrepaired.push(...toRepair);
  if (page.next !== null || toCompare.length > 0 || unrepaired.length > 0) {
    await continueAsNew<typeof reconcile>({ ...asked, resume: { after, soFar: result, unrepaired } });
  }
  result.state = 'done';
  const end = { runId: result.runId, exporterId, result };
  result.counts = (await calls('ledger', 'Record the outcome').endReconciliation(end)).counts;
  return result;
}

function note(result: ReconcileResult, { company, outcome }: ComparedCompany): void {
  result.companies += 1;
  result.opened += outcome.opened;
  result.closed += outcome.closed;
  result.healed += outcome.healed;
  if (outcome.skipped) noteSkipped(result, company.exporterId, outcome.skipped);
  setCurrentDetails(
    `Companies compared: ${result.companies}. Findings opened ${result.opened}, closed ${result.closed}, healed ${result.healed}.`,
  );
}
