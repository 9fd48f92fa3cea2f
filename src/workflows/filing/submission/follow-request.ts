/** Polls from the acknowledgement until every record has an outcome, however long the authority takes. */
import { ActivityFailure } from '@temporalio/workflow';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { PollResult } from '../../../activities/filings/poll-status';
import { processingNote } from '../../../domain/filing/move-texts';
import { ACCESS, delayMs } from '../../../domain/service/retry-table';
import { readFailure, type ReadFailure } from '../../failures';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { helpful, Interrupted, interruptible, throughPauses } from '../pauses';
import { untilOverdue } from '../filing-steps';
import { freshenBalances } from '../prepare-filing';
import { carryOutAnswer } from './person-answer';
import { lookAtOthers, pollRequests } from './evidence';
import { acknowledgedAs, settleUnknown } from './unknown-outcome';

const followed = ({ requests }: SubmissionStage) => requests.find(({ state }) => state === 'followed');

/** Follows the requests of a submission until they end and its rows are settled. */
export async function followRequest(run: FilingRun, submission: number): Promise<void> {
  const stage = run.stage(submission);
  const request = followed(stage);
  const due = (request?.since ?? Date.now()) + run.settings.overdueAfterMs;
  // A run that resumes an overdue request keeps the filing overdue; a later submission's request may not be due yet.
  const note = processingNote(request?.requestId ?? null);
  const moved = run.state === 'processing' && run.now.text === note.text;
  if (!moved && (run.state !== 'overdue' || due > Date.now())) await run.move('processing', note);
  const resolve = `ebrc resolve ${run.filingId} --as`;
  const notFiled = `${resolve} not-filed`;
  const notOurs =
    request?.source === 'named'
      ? `${notFiled} --not-ours ${request.requestId} --note TEXT (two persons, where it is another filing’s), or: `
      : '';
  const mark = {
    at: due,
    summary: 'Request becomes overdue',
    during: 'processing' as const,
    text: 'no outcome in time',
    attention:
      `Request ${request?.requestId} has no outcome ${Math.round(run.settings.overdueAfterMs / 60_000)} minutes after its ` +
      `submission. Polling continues. Ask the service about it, or: ${notOurs}${notFiled} --note TEXT (for what the ` +
      `portal does not show, once the service denies the request or has ended it), or: ${resolve} filed --certificate ` +
      `ROW=NUMBER --note TEXT (two persons, for what it shows), or: ebrc abandon ${run.filingId} --note TEXT.`,
  };
  const [attemptId, requestId] = [stage.attempt?.attemptId ?? null, request?.requestId ?? null];
  const polled = await run.requests.whileAnswering({ attemptId, requestId, following: true }, () =>
    untilOverdue(run, mark, () => poll(run, submission)),
  );
  if (polled?.requestId) await settleStatement(run, submission, polled.requestId);
}

/** @returns the service's statement that nothing was filed; null when every row has its outcome */
async function poll(run: FilingRun, submission: number): Promise<PollResult | null> {
  for (let refusals = 0; ;) {
    let polled: PollResult;
    try {
      polled = await throughPauses(run, () =>
        interruptible(
          run,
          () => pollRequests(run, submission),
          () => run.requests.answered,
        ),
      );
    } catch (error) {
      if (error instanceof ActivityFailure) {
        refusals += 1;
        await askAgainLater(run, submission, readFailure(error), refusals);
      } else if (error instanceof Interrupted) await takeAnswer(run, submission);
      else throw error;
      continue;
    }
    if (polled.outcome === 'statement') return polled;
    if (polled.outcome === 'doubt') throw new FilingMovedOn('rows without an outcome are looked into');
    await run.adoptState(polled.filing);
    if (polled.outcome === 'settled' || (await filledByDetails(run, submission))) return null;
    await lookAtOthers(run, submission);
    await run.wait(
      Math.max(run.settings.rateWindowMs, run.settings.pollMaxMs),
      'Not every record has an outcome yet',
      () => run.requests.answered,
    );
  }
}

/** Settles a submission of whose request the service says that nothing was filed. */
async function settleStatement(run: FilingRun, submission: number, requestId: string): Promise<void> {
  const stage = run.stage(submission);
  const what = `${acknowledgedAs(stage)}, and nothing of request ${requestId} is known or listed there`;
  const doubt = { requestId, attemptId: stage.attempt?.attemptId ?? null, reason: what };
  const settled = await settleUnknown(run, submission, doubt);
  if (settled.outcome !== 'settled') throw new FilingMovedOn('the request is followed again');
}

/** After a refused poll: asks for attention and polls again later, because what was filed needs an outcome. */
async function askAgainLater(run: FilingRun, submission: number, { message }: ReadFailure, refusals: number) {
  const attention = `Request ${followed(run.stage(submission))?.requestId} cannot be asked about: ${message} It is retried automatically, within 15 minutes.`;
  await run.move(run.state, { kind: 'poll_refused', text: message }, { attention, needsAttention: true });
  await run.wait(delayMs(ACCESS, refusals), 'Poll the request again', () => run.requests.answered);
  if (run.requests.answered) await takeAnswer(run, submission);
}

/** Fills rows from fetch-details where the authority is done but left rows out. @returns whether none is open */
async function filledByDetails(run: FilingRun, submission: number): Promise<boolean> {
  const { filingId, exporterId } = run;
  // Balances have to confirm a certificate, so they are read after its issue and before the look that shows it.
  await freshenBalances(run);
  const details = run.calls('api', 'Fill rows from the certificate details', 'details');
  const problem = { kind: 'no_details', text: 'The certificate details could not be read' };
  const found = await helpful(run, problem, () => details.fetchCertificates({ filingId, exporterId, submission }));
  await run.adoptState(found?.filing);
  return found?.open === 0;
}

/** Carries out a person's answer, e.g. another request id. @throws FilingMovedOn when it was carried out */
async function takeAnswer(run: FilingRun, submission: number): Promise<void> {
  const carried = await carryOutAnswer(run, submission);
  if (carried) throw new FilingMovedOn('a person’s answer was carried out');
}
