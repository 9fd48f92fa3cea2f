/** Steps before the submission: activation, fresh balances, their reservation, approval. */
import type { Reserved } from '../../activities/filings/filing-ledger';
import { approvalMove, areBalancesFresh, isActivationPending, type FirstMove } from '../../domain/filing/move-texts';
import type { Activities } from '../../activities/create-activities';
import type { FilingRun } from './filing-run';
import { helpful, interruptible, waitUntilActive } from './pauses';
import { FilingRefused } from './finish-filing';

export type Opened = Extract<
  Awaited<ReturnType<Activities['openFiling']>>,
  { outcome: 'opened' | 'resumed' | 'recorded' }
>;

/**
 * Checks that the filing may be sent, before the first send and after every wait.
 * @param next the move that is recorded together with the reservation
 * @throws FilingRefused when the balances do not allow it
 */
export async function prepareFiling(run: FilingRun, next?: FirstMove, read: Opened['readiness'] = null): Promise<void> {
  const { filingId, exporterId } = run;
  const ready =
    read ?? (await run.steps('Check exporter readiness and balance age').readReadiness({ filingId, exporterId }));
  if (isActivationPending(ready)) await waitUntilActive(run, ready.activatesAt);
  const reserved = areBalancesFresh(ready, Date.now()) ? null : await freshenAndReserve(run, next);
  const { errors } = reserved ?? (await reserve(run, next));
  if (errors.length > 0) throw new FilingRefused(null, null, errors);
}

function reserve(run: FilingRun, next?: FirstMove): Promise<Reserved> {
  const { filingId } = run;
  return run.step(() => {
    const move = next && run.nextMove(next.state, next.event, next);
    return run.steps('Check and reserve the balances').reserveBalances({ filingId, ...(move && { move }) });
  });
}

/** Reads the balances live and reserves them in the same step. @returns null when that failed */
function freshenAndReserve(run: FilingRun, next?: FirstMove): Promise<Reserved | null> {
  return freshen(run, async (exporterId) => {
    const move = next && run.nextMove(next.state, next.event, next);
    const read = run.calls('helpful', 'Read the IRMs and reserve the balances', 'api', 2);
    const { reserved } = await read.readIrms({ exporterId, reserve: { ...run.held, ...(move && { move }) } });
    if (!reserved || reserved.filing === 'differs') return null;
    await run.adoptState(reserved.filing);
    return reserved;
  });
}

export async function freshenBalances(run: FilingRun): Promise<void> {
  await freshen(run, (exporterId) => readIrms(run, exporterId));
}

/** As {@link freshenBalances}, for a person who waits: fails where a filing would wait out a pause. */
export const freshenBalancesOnce = (run: FilingRun): Promise<unknown> =>
  interruptible(run, () => refreshed(run, (exporterId) => readIrms(run, exporterId)));

const readIrms = (run: FilingRun, exporterId: string) =>
  run.calls('helpful', 'Read the IRMs', 'api', 2).readIrms({ exporterId });

/** Refreshes and reads. @returns null after a failure, which an event records; the known balances are used then */
function freshen<T>(run: FilingRun, read: (exporterId: string) => Promise<T>): Promise<T | null> {
  return helpful(run, { kind: 'balances_stale', text: 'The IRMs could not be refreshed' }, () => refreshed(run, read));
}

async function refreshed<T>(run: FilingRun, read: (exporterId: string) => Promise<T>): Promise<T> {
  const { exporterId } = run;
  await run.calls('helpful', 'Refresh the IRMs', 'irm-refresh', 2).refreshIrms({ exporterId });
  return read(exporterId);
}

/** Checks an unsent filing's balances and waits for its approval. @param next the move then. @throws FilingRefused */
export async function checkAndApprove(run: FilingRun, { outcome, readiness }: Opened, next?: FirstMove): Promise<void> {
  const { filing } = run;
  // A filing that opened in a later state than `checking` already has its balances reserved.
  const reserved = outcome === 'opened' && run.state !== 'checking';
  if (!filing?.approvalNeeded || filing.approvedBy) return reserved ? undefined : prepareFiling(run, next, readiness);
  if (!reserved) await prepareFiling(run, approvalMove(filing), readiness);
  for (let approved = false; !approved;) approved = await approve(run);
  // The balances may have changed while the filing waited.
  await prepareFiling(run, next);
}

/** @returns whether the filing was approved; false when the ledger refused the approval: it keeps waiting */
async function approve(run: FilingRun): Promise<boolean> {
  const { requests, filing } = run;
  while (!requests.approval) await run.wait(24 * 3_600_000, 'Wait for approval', () => requests.approval !== null);
  const { by, note, wordId = '' } = requests.approval;
  const event = { kind: 'approved', text: `approved by ${by}`, who: by };
  const record = run.steps(`Approved by ${by}`);
  const { refused } = await run.step(() =>
    record.recordApproval({ note, wordId, move: run.nextMove('checking', event) }),
  );
  if (refused !== undefined) requests.refuseRequest('approval', `${refused}.`);
  else if (filing) filing.approvedBy = by;
  return refused === undefined;
}
