/** Opens the attempt to send a submission with, after a snapshot of the certificates that exist before the send. */
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { OpenedAttempt } from '../../../activities/filings/attempts';
import type { Evidence } from '../../../activities/filings/looks';
import type { AttemptVerdict } from '../../../domain/filing/attempt';
import { certificatesAgree } from '../../../domain/filing/questions';
import { submittingMove, type FirstMove } from '../../../domain/filing/move-texts';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { onceLedgerIsWhole, throughPauses, recordFailureAndContinue } from '../pauses';
import { prepareFiling } from '../prepare-filing';
import { FilingRefused } from '../finish-filing';
import { gather, namingOptions, roundMs } from './evidence';
import { carryOutAnswer } from './person-answer';

/** @returns the attempt to send with, or one sent already; null if there is nothing to send. @throws FilingMovedOn */
export async function openNext(
  run: FilingRun,
  submission: number,
  again: boolean,
): Promise<{ attemptId: string; verdict: AttemptVerdict } | null> {
  run.stopIfGivenUp();
  await run.requests.closeResolution('The last attempt was proven not to be sent, so there is nothing to resolve.');
  if (again) await prepareFiling(run);
  if (run.state !== 'submitting') await run.move('submitting', submitting(run, run.stage(submission)).event);
  const snapshot = await takeSnapshot(run, submission);
  run.stopIfGivenUp();
  const open = () =>
    onceLedgerIsWhole(run, () => run.steps('Open the next attempt').openAttempt({ ...run.held, submission }));
  let opened = snapshot?.opened ?? (await open());
  for (; opened.outcome === 'wait' || opened.outcome === 'look'; opened = await open()) {
    if (opened.outcome === 'wait') await readCertificatesFirst(run, opened);
    else await confirmAbsence(run, submission, opened, open);
  }
  if (opened.outcome === 'differs') throw new FilingMovedOn('the ledger holds other moves');
  if (opened.outcome === 'ended') throw new FilingMovedOn(`The filing has ended as ${opened.state}.`);
  if (opened.outcome === 'attempt') return opened;
  if (opened.outcome === 'rows_gone') {
    throw new FilingRefused(submission, { kind: 'rows_gone', message: opened.reason }, []);
  }
  await run.step(({ filingId }) => run.steps('Read the filing').readFiling({ filingId }));
  return null;
}

export function submitting(run: FilingRun, stage: SubmissionStage): FirstMove {
  return submittingMove(stage, run.now.submissions.length);
}

/** After a restore of ledger and documents: reads what was filed in the lost time before anything is sent. */
async function readCertificatesFirst(run: FilingRun, { until, from }: { until: number; from: number }): Promise<void> {
  const text =
    `ledger and documents were put back together: nothing is sent before ${new Date(until).toISOString()}, when the ` +
    'exporter’s certificates are read for what was filed in the time that is lost';
  await run.move(run.state, { kind: 'waits_after_restore', text }, { attention: text, needsAttention: true });
  while (Date.now() < until) await run.wait(until - Date.now(), 'Wait for certificates after a restore');
  const { exporterId } = run;
  const calls = run.calls('api', 'Read certificates issued since the backup', 'details', 2);
  const { settleAfterMs } = run.settings;
  // If no look is complete within a settle window, a person is asked what was filed in the lost time.
  for (const began = Date.now(); ; await run.wait(roundMs(settleAfterMs, false), 'Read the certificates again')) {
    const last = Date.now() - began >= settleAfterMs;
    const look = () => calls.lookAtCertificates({ exporterId, from, last });
    if ((await throughPauses(run, look)).complete || last) break;
  }
  await prepareFiling(run);
  await run.move(run.state, { kind: 'resumed', text: 'resumed' });
}

/** Time between two looks when certificates agree with rows that were released as not filed. */
const AGREEING_CHECK_MS = 60 * 60_000;

/** Rows were released as not filed: a complete look must show no agreeing certificate, or two persons must say so. */
async function confirmAbsence(
  run: FilingRun,
  submission: number,
  first: Extract<OpenedAttempt, { outcome: 'look' }>,
  open: () => Promise<OpenedAttempt | { outcome: 'differs' }>,
): Promise<void> {
  const { requests, settings, exporterId } = run;
  const began = Date.now();
  const round = async ({ from, agreeing }: Extract<OpenedAttempt, { outcome: 'look' }>): Promise<void> => {
    const over = Date.now() - began >= settings.settleAfterMs;
    // An agreeing certificate may be the rows' own that came late.
    const found = agreeing.length > 0 ? await gather(run, submission, null) : null;
    if (found && found.adopted.length > 0) return;
    if (agreeing.length > 0 || over) await askToConfirm(run, submission, agreeing, found);
    const wait = (ms: number) => run.wait(ms, 'Look at the certificates again', () => requests.answered);
    if (agreeing.length > 0) await wait(AGREEING_CHECK_MS);
    else {
      const look = run.calls('api', 'Confirm that nothing of the last attempt was filed', 'details', 2);
      const { complete } = await throughPauses(run, () => look.lookAtCertificates({ exporterId, from }));
      if (!complete && !requests.answered) await wait(roundMs(settings.settleAfterMs, over));
    }
    await carryOutAnswer(run, submission, () => Promise.resolve());
  };
  await requests.whileAnswering({ attemptId: null, requestId: null }, async () => {
    for (let opened: OpenedAttempt | { outcome: 'differs' } = first; opened.outcome === 'look'; opened = await open())
      await round(opened);
  });
}

async function askToConfirm(
  run: FilingRun,
  submission: number,
  agreeing: string[],
  found: Evidence | null,
): Promise<void> {
  const { certificate, notOurs } = namingOptions(found);
  const why =
    agreeing.length > 0
      ? `Submission ${submission} has rows that were treated as not filed, and ${certificatesAgree(agreeing)} with them`
      : `Rows of submission ${submission} were treated as not filed, and no look at the certificates was possible since`;
  const answer =
    agreeing.length > 0
      ? `${notOurs} --note TEXT, or, where they are these rows’ own: ebrc resolve ${run.filingId} --as filed ${certificate}`
      : '--unseen';
  const attention =
    `${why}. It is not sent again before two persons have looked at the portal and said: ` +
    `ebrc resolve ${run.filingId} --as not-filed ${answer} --note TEXT.`;
  await run.move(run.state, { kind: 'agreeing', text: attention }, { attention, needsAttention: true });
}

/** Stores the certificates from before the send and opens the attempt. Without them only a person settles a doubt. */
function takeSnapshot(run: FilingRun, submission: number) {
  const { exporterId } = run;
  const { attempts: after } = run.stage(submission);
  const calls = run.calls('beforeSend', 'Snapshot the certificates before the send', 'details', 2);
  const problem = { kind: 'no_snapshot', text: 'Certificates from before the send could not be read' };
  return recordFailureAndContinue(run, problem, () =>
    throughPauses(run, () => {
      const { filingId, seq } = run.held;
      return calls.takeSnapshot({ filingId, submission, exporterId, open: { seq, after } });
    }),
  );
}
