/** Everything before the submission: activation, fresh balances, their reservation, approval. */
import type { StoredAnswer } from '../../domain/filing/attempt';
import type { Finding } from '../../domain/rules/finding';
import type { MoveArgs } from '../../activities/filings/moves';
import { calls } from '../activity-profiles';
import type { Event, FilingRun } from './filing-run';
import { interruptible } from './interruptible';
import { recordFailureAndContinue } from './record-failure';
import { throughPauses, waitUntilActive } from './pauses';

/** A balance older than this is read again before it is relied on. */
const FRESH_BALANCE_MS = 60 * 60_000;

/** The filing cannot be sent as it is. */
export class FilingRefused extends Error {
  override readonly name = 'FilingRefused';
  constructor(
    readonly submission: number | null,
    readonly answer: StoredAnswer | null,
    readonly errors: Finding[],
  ) {
    super('refused');
  }
}

/**
 * Makes sure that the filing may go out now. Called before the first submission and again after every wait. With
 * `next`, the filing is being submitted from the moment on that its balances are reserved.
 * @throws FilingRefused when the balances do not allow it.
 */
export async function prepareFiling(run: FilingRun, next?: Event): Promise<void> {
  const { filingId, exporterId } = run;
  const ready =
    run.readiness ??
    (await run.steps('Check exporter readiness and balance age').readReadiness({ filingId, exporterId }));
  run.readiness = null;
  if (ready.apiState?.trim().toLowerCase() === 'activation_pending') {
    await waitUntilActive(run, ready.activatesAt);
  }
  if (ready.balancesReadAt === null || Date.now() - ready.balancesReadAt > FRESH_BALANCE_MS) await freshenBalances(run);
  const reserve = (move?: MoveArgs) =>
    run.steps('Check and reserve the balances').reserveBalances({ filingId, exporterId, ...(move && { move }) });
  const { errors } = next ? await run.stepTo('submitting', next, reserve) : await reserve();
  if (errors.length > 0) throw new FilingRefused(null, null, errors);
}

/**
 * Reads the balances live. A refresh that does not come about delays nothing: the known balances are used, and it is
 * said.
 */
export async function freshenBalances(run: FilingRun): Promise<void> {
  const { exporterId } = run;
  await recordFailureAndContinue(run, { kind: 'balances_stale', text: 'The IRMs could not be refreshed' }, () =>
    throughPauses(run, () =>
      interruptible(run, async () => {
        const about = { exporterId, priorityKey: 2 } as const;
        const refresh = { ...about, summary: 'Refresh the IRMs', rateClass: 'irm-refresh' as const };
        await calls('helpful', refresh).refreshIrms({ exporterId });
        await calls('helpful', { ...about, summary: 'Read the IRMs', rateClass: 'api' }).readIrms({ exporterId });
      }),
    ),
  );
}

/** Whether a second person has still to approve the filing. */
export function waitsForApproval({ filing }: FilingRun): boolean {
  return filing !== null && filing.approvalNeeded && !filing.approvedBy;
}

/** Waits for a second person, where the exporter or the filing asks for one. */
export async function awaitApproval(run: FilingRun): Promise<void> {
  const { filing } = run;
  if (!filing || !waitsForApproval(run)) return;
  const attention = `Waiting for approval by somebody other than ${filing.madeBy}: ebrc approve ${filing.filingId}`;
  await run.move('awaiting_approval', { kind: 'awaiting_approval', text: 'waiting for approval' }, { attention });
  while (!run.approval) await run.wait(24 * 3_600_000, 'Wait for approval', () => run.approval !== null);
  const { by, note } = run.approval;
  const record = run.steps(`Approved by ${by}`);
  run.agreed(await record.recordApproval({ ...run.held, by, note }));
  filing.approvedBy = by;
  await run.move('checking', { kind: 'approved', text: `approved by ${by}`, who: by });
  // Balances may have moved while the filing waited.
  await prepareFiling(run);
}
