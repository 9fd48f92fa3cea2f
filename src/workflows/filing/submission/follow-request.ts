/** From the acknowledgement to an outcome for every record: polling, however long the authority takes. */
import { ActivityFailure } from '@temporalio/workflow';
import type { FetchedCertificates } from '../../../activities/certificates/certificates';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { PollResult } from '../../../activities/filings/poll-status';
import { attemptIdOf } from '../../../domain/filing/attempt';
import { sentAs } from '../../../domain/filing/known-send';
import { processingNote } from '../../../domain/filing/move-notes';
import { ACCESS, delayMs } from '../../../domain/service/retry-table';
import { calls } from '../../activity-profiles';
import { readFailure, type ReadFailure } from '../../failures';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { interruptible, Interrupted } from '../interruptible';
import { recordFailureAndContinue } from '../record-failure';
import { untilOverdue } from '../overdue';
import { throughPauses } from '../pauses';
import { adoptSaidRequest } from './request-check';
import { settleUnknownRequest } from './unknown-request';

/** Follows a request to its end; the submission's rows are settled then. */
export async function followRequest(run: FilingRun, stage: SubmissionStage): Promise<void> {
  const due = (stage.submittedAt ?? Date.now()) + run.settings.overdueAfterMs;
  // A run that takes up an overdue request leaves the filing as it is; another submission of it may be in time.
  const moved = run.processing && run.state === 'processing';
  run.processing = false;
  if (!moved && (run.state !== 'overdue' || due > Date.now())) {
    await run.move('processing', processingNote(stage.requestId));
  }
  const mark = {
    at: due,
    summary: 'Request becomes overdue',
    during: 'processing' as const,
    text: 'no outcome in time',
    attention:
      `Request ${stage.requestId} has no outcome ${Math.round(run.settings.overdueAfterMs / 60_000)} minutes after its ` +
      `submission. It goes on being polled. Ask the service about it, or: ebrc abandon ${run.filingId} --note TEXT.`,
  };
  const { requests } = run;
  requests.following = true;
  requests.inQuestion = stage.lastAttempt?.attemptId ?? null;
  try {
    await requests.whileAnswering(() => untilOverdue(run, mark, () => poll(run, stage)));
  } finally {
    requests.following = false;
  }
}

async function poll(run: FilingRun, stage: SubmissionStage): Promise<void> {
  for (let refusals = 0; ;) {
    let polled: PollResult;
    try {
      polled = await throughPauses(run, () =>
        interruptible(
          run,
          () => look(run, stage),
          () => run.requests.resolution !== null,
        ),
      );
    } catch (error) {
      if (error instanceof ActivityFailure) {
        refusals += 1;
        await askAgainLater(run, stage, readFailure(error), refusals);
      } else if (error instanceof Interrupted) await takeRequestId(run, stage);
      else throw error;
      continue;
    }
    if (polled.outcome === 'unknown_request') {
      const known = await settleUnknownRequest(run, stage, {
        status: () => throughPauses(run, () => interruptible(run, () => look(run, stage))),
        certificates: () => certificatesOf(run, stage),
        answer: () => takeRequestId(run, stage),
      });
      if (known === null) return;
      polled = known;
    }
    if (polled.outcome === 'other_attempt' || polled.outcome === 'superseded')
      throw new FilingMovedOn('another attempt or another request of the submission is looked into');
    await run.tookOverCollecting(polled.moved);
    if (polled.outcome === 'terminal' || (await filledByDetails(run, stage))) {
      stage.state = 'terminal';
      return;
    }
    await run.wait(
      Math.max(run.settings.rateWindowMs, run.settings.pollMaxMs),
      'Not every record has an outcome yet',
      () => run.requests.resolution !== null,
    );
  }
}

/** What was filed is asked about until the service answers, however it refuses: somebody has to see why it does. */
async function askAgainLater(
  run: FilingRun,
  stage: SubmissionStage,
  { message }: ReadFailure,
  refusals: number,
): Promise<void> {
  const attention = `Request ${stage.requestId} cannot be asked about: ${message} It is tried again by itself, within 15 minutes.`;
  await run.move(run.state, { kind: 'poll_refused', text: message }, { attention, needsAttention: true });
  await run.wait(delayMs(ACCESS, refusals), 'Poll the request again', () => run.requests.resolution !== null);
  if (run.requests.resolution) await takeRequestId(run, stage);
}

function look(run: FilingRun, stage: SubmissionStage): Promise<PollResult> {
  const { filingId, exporterId } = run;
  return calls('poll', { summary: `Status of request ${stage.requestId}`, rateClass: 'api', exporterId }).pollStatus({
    filingId,
    submission: stage.submission,
    exporterId,
    requestId: stage.requestId ?? '',
    submittedAt: stage.submittedAt ?? Date.now(),
    failedAck: stage.ackStatus?.trim().toLowerCase() === 'failed',
    ackErrors: stage.ackErrors ?? [],
    sends: run.sends.filter(({ submission }) => submission === stage.submission),
  });
}

/** The authority is done but did not list every row: fetch-details may. */
async function filledByDetails(run: FilingRun, stage: SubmissionStage): Promise<boolean> {
  return (await certificatesOf(run, stage))?.open === 0;
}

async function certificatesOf(run: FilingRun, { submission }: SubmissionStage): Promise<FetchedCertificates | null> {
  const { filingId, exporterId } = run;
  const about = { summary: 'Fill rows from the certificate details', rateClass: 'details' as const, exporterId };
  const problem = { kind: 'no_details', text: 'The certificate details could not be read' };
  const found = await recordFailureAndContinue(run, problem, () =>
    throughPauses(run, () =>
      interruptible(run, () => calls('api', about).fetchCertificates({ filingId, exporterId, submission })),
    ),
  );
  await run.tookOverCollecting(found?.moved);
  return found;
}

/** A person gives the request id under which the submission is processed. */
async function takeRequestId(run: FilingRun, stage: SubmissionStage): Promise<void> {
  const resolution = run.requests.resolution;
  if (!resolution) return;
  if (!resolution.requestId) {
    const message = `The service answered with request ${stage.requestId}: that is what is looked into.`;
    run.requests.refuseResolution(message);
    return;
  }
  const { by, requestId } = resolution;
  const attemptId = stage.lastAttempt?.attemptId ?? attemptIdOf(run.filingId, stage.submission, 1);
  const adopted = await adoptSaidRequest(run, attemptId, { ...resolution, requestId });
  if (adopted.doubt !== null) {
    const event = { kind: 'resolve_refused', who: by, text: adopted.doubt, data: { requestId, attemptId } };
    await run.requests.contradictResolution(`${adopted.doubt}.`, event);
    return;
  }
  stage.requestId = requestId;
  stage.submittedAt = adopted.submittedAt;
  run.noteSend(sentAs(attemptId, { requestId, sentAt: adopted.submittedAt, accepted: false }));
  if (stage.submission === 1) run.requestId = requestId;
  run.requests.resolved();
}
