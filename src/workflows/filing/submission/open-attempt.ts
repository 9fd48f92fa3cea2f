/** Opening the attempt that a submission is sent with, after a look at what exists before the send. */
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { TakenSnapshot } from '../../../activities/filings/snapshot';
import type { AttemptVerdict } from '../../../domain/filing/attempt';
import { submittingMove, type FirstMove } from '../../../domain/filing/first-moves';
import { calls } from '../../activity-profiles';
import { FilingEnded, FilingMovedOn, type FilingRun } from '../filing-run';
import { onceLedgerIsWhole } from '../ledger-waits';
import { throughPauses } from '../pauses';
import { prepareFiling } from '../prepare-filing';
import { recordFailureAndContinue } from '../record-failure';
import { FilingRefused } from '../refusal';
import { roundMs } from './evidence';
import type { Attempt } from './unknown-outcome';

/**
 * The attempt to send with, or the one that stands as sent already; null where the submission is past
 * sending, as for a run that was reset. @throws FilingEnded when the filing has ended in the ledger
 */
export async function openNext(
  run: FilingRun,
  stage: SubmissionStage,
  again: boolean,
): Promise<(Attempt & { verdict: AttemptVerdict }) | null> {
  run.stopIfGivenUp();
  await run.requests.putAside('The last attempt was proven not to be sent, so there is nothing to resolve.');
  if (again) await prepareFiling(run);
  if (run.state !== 'submitting') await run.move('submitting', submitting(run, stage).event);
  const snapshot = await takeSnapshot(run, stage);
  run.stopIfGivenUp();
  const { filingId } = run;
  const { submission } = stage;
  const open = () =>
    onceLedgerIsWhole(run, () => run.steps('Open the next attempt').openAttempt({ ...run.held, submission }));
  let opened = snapshot?.opened ?? (await open());
  for (; opened.outcome === 'wait' || opened.outcome === 'look'; opened = await open()) {
    if (opened.outcome === 'wait') await readCertificatesFirst(run, opened);
    else await confirmAbsence(run, stage, opened);
  }
  if (opened.outcome === 'differs') throw new FilingMovedOn('the ledger holds other moves');
  if (opened.outcome === 'ended') throw new FilingEnded(`The filing has ended as ${opened.state}.`);
  if (opened.outcome === 'attempt') {
    const { attemptId, number, verdict } = opened;
    stage.attempt = { attemptId, number, verdict };
    stage.attempts = number;
    return opened;
  }
  if (opened.outcome === 'rows_gone') {
    throw new FilingRefused(submission, { kind: 'rows_gone', message: opened.reason }, []);
  }
  const filing = await run.steps('Read the filing').readFiling({ filingId });
  Object.assign(
    stage,
    filing.submissions.find((each) => each.submission === submission),
  );
  run.sent ||= stage.state !== 'planned' && stage.state !== 'released';
  if (submission === 1) run.requestId = stage.requests[0]?.requestId ?? null;
  return null;
}

/** The move to the sending of a submission. */
export function submitting(run: FilingRun, stage: SubmissionStage): FirstMove {
  return submittingMove(stage, run.filing?.submissions.length ?? 1);
}

/** After a restore of ledger and documents alike: what was sent in the time that is lost has to show first. */
async function readCertificatesFirst(run: FilingRun, { until, from }: { until: number; from: number }): Promise<void> {
  const text =
    `ledger and documents were put back together: nothing is sent before ${new Date(until).toISOString()}, when the ` +
    'exporter’s certificates are read for what was filed in the time that is lost';
  await run.move(run.state, { kind: 'waits_after_restore', text }, { attention: text, needsAttention: true });
  while (Date.now() < until) await run.wait(until - Date.now(), 'Wait for certificates after a restore');
  const { exporterId } = run;
  const about = {
    summary: 'Read certificates issued since the backup',
    rateClass: 'details' as const,
    exporterId,
    priorityKey: 2 as const,
  };
  await throughPauses(run, () => calls('api', about).lookAtCertificates({ exporterId, from }));
  await prepareFiling(run);
  await run.move(run.state, { kind: 'resumed', text: 'resumed' });
}

/** Between two looks at certificates that agree with rows which were taken for not filed. */
const AGREEING_CHECK_MS = 60 * 60_000;

/**
 * Rows of the submission were released as not filed: a complete look has to show first that no certificate of them came
 * meanwhile. Where one agrees, they may have been filed after all; the filing waits until two persons have named it.
 */
async function confirmAbsence(
  run: FilingRun,
  stage: SubmissionStage,
  { from, agreeing }: { from: number; agreeing: string[] },
): Promise<void> {
  const { exporterId } = run;
  const summary = 'Confirm that nothing of the last attempt was filed';
  const about = { summary, rateClass: 'details' as const, exporterId, priorityKey: 2 as const };
  if (agreeing.length > 0) {
    const attention =
      `Certificates ${agreeing.join(', ')} agree with rows of submission ${stage.submission} that were taken for not filed. ` +
      'It is not sent again while they do. Look at the portal whose they are.';
    await run.move(run.state, { kind: 'agreeing', text: attention }, { attention, needsAttention: true });
    await run.wait(AGREEING_CHECK_MS, 'Look at the agreeing certificates again');
  }
  const looked = await throughPauses(run, () => calls('api', about).lookAtCertificates({ exporterId, from }));
  if (!looked.complete) await run.wait(roundMs(run.settings.settleAfterMs, false), 'Look at the certificates again');
}

/**
 * Notes what exists before the send, and opens the attempt with it. Without it an unknown outcome can only be settled
 * by a person; it stops nothing.
 */
function takeSnapshot(run: FilingRun, stage: SubmissionStage): Promise<TakenSnapshot | null> {
  const { exporterId } = run;
  const { submission } = stage;
  const summary = 'Snapshot the certificates before the send';
  const about = { summary, rateClass: 'details', exporterId, priorityKey: 2 } as const;
  const after = stage.attempts;
  return recordFailureAndContinue(
    run,
    { kind: 'no_snapshot', text: 'Certificates from before the send could not be read' },
    () =>
      throughPauses(run, () => {
        const { filingId, seq } = run.held;
        return calls('beforeSend', about).takeSnapshot({ filingId, submission, exporterId, open: { seq, after } });
      }),
  );
}
