/** Sends a submission, one attempt at a time; the next only after the one before was judged as not filed. */
import { counted } from '../../../domain/text';
import { sleep } from '@temporalio/workflow';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import { MAYBE_FILED, NOT_FILED, sentAs, withoutSend } from '../../../domain/filing/attempt';
import type { AttemptReading, StoredAnswer } from '../../../domain/filing/attempt';
import { decide, delayMs, pauseReasonOf } from '../../../domain/service/retry-table';
import type { ErrorKind } from '../../../domain/service/error-kinds';
import type { Decided } from '../../../activities/filings/moves';
import type { Submitted } from '../../../activities/filings/submit';
import type { AdoptedAnswer } from '../../../activities/filings/answers';
import { readFailure, type ReadFailure } from '../../failures';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { stepOnceWhole, waitOut } from '../pauses';
import { FilingRefused } from '../finish-filing';
import { openNext } from './open-attempt';
import { acknowledgedAs, settleUnknown, type Doubt } from './unknown-outcome';

type Sent =
  /** `adopted`: what the submit activity already recorded of the answer. */
  | { verdict: 'answered'; answer: StoredAnswer; attemptId: string; sentBy?: string; adopted?: AdoptedAnswer | null }
  | { verdict: 'not_sent'; failure: ReadFailure; answer: StoredAnswer | null }
  | { verdict: 'unknown'; reason: string };

/** How long after the HTTP time-out an answer may still be on its way into the ledger. */
const LATE_ANSWER_MS = 30_000;
/** After this many attempts in a row that were not sent, the filing needs attention. */
const ATTEMPTS_UNTIL_ATTENTION = 4;

/** Sends a submission, or settles it. @throws FilingRefused, FilingGivenUp, FilingMovedOn */
export async function submitOne(run: FilingRun, submission: number): Promise<void> {
  const stage = run.stage(submission);
  const last = stage.requests.at(-1);
  if (last && stage.attempt?.verdict !== 'marked') {
    const { requestId } = last;
    const reason = `rows of request ${requestId} have no outcome, although the authority has answered for it`;
    if (await settle(run, submission, { requestId, attemptId: stage.attempt?.attemptId ?? null, reason })) return;
  }
  const { attempt: before } = run.stage(submission);
  let earlier = before?.verdict === 'open' || (before && MAYBE_FILED.includes(before.verdict)) ? before : null;
  for (let failures = 0, again = false; ;) {
    const attempt = earlier ?? (await openNext(run, submission, again));
    again = true;
    if (attempt === null) return;
    // An attempt of an earlier run, or one that was sent already, is only read and never sent again.
    const sent: Sent =
      earlier || attempt.verdict !== 'open'
        ? await readMarks(run, attempt.attemptId, null)
        : await send(run, stage, attempt.attemptId);
    earlier = null;
    if (sent.verdict === 'answered') {
      if (await adopt(run, submission, sent)) return;
      continue;
    }
    if (sent.verdict === 'unknown') {
      if (await settle(run, submission, { attemptId: attempt.attemptId, requestId: null, reason: sent.reason })) return;
      continue;
    }
    failures += 1;
    await notSent(run, submission, sent, failures);
  }
}

async function send(run: FilingRun, stage: SubmissionStage, attemptId: string): Promise<Sent> {
  const { filingId, exporterId, filing } = run;
  const args = { filingId, submission: stage.submission, exporterId, attemptId };
  const bulk = filing?.channel === 'bulk';
  const what = `submission ${stage.submission} (${counted(stage.rowCount, 'row')})`;
  let failure: ReadFailure | null = null;
  try {
    const submitted: Submitted | null = await (bulk
      ? run.calls('submit', `Upload the workbook of ${what}`, 'bulk').submitBulk(args)
      : run.calls('submit', `Push ${what}`, 'push').submitPush(args));
    // An operator can complete the activity by hand without its answer: then the ledger is read.
    if (submitted?.answer?.kind === 'accepted') return { verdict: 'answered', attemptId, ...submitted };
  } catch (error) {
    failure = readFailure(error);
  }
  return readMarks(run, attemptId, failure);
}

/** Reads the ledger's verdict on an attempt whose activity failed, was lost, or belonged to an earlier run. */
async function readMarks(run: FilingRun, attemptId: string, failure: ReadFailure | null): Promise<Sent> {
  const { sentBy } = failure?.details ?? {};
  const refusal = failure && wasRefused(failure) && sentBy ? { reason: failure.kind ?? '', sentBy } : null;
  const step = ({ seq }: Decided) =>
    run.steps('Read the attempt').readAttempt({ attemptId, seq, ...(refusal && { refusal }) });
  const read = () => stepOnceWhole(run, step, { inRun: failure !== null });
  let reading = await read();
  // After `outcome_unknown` the exchange is over; after any other failure the request may still be under way.
  if (reading.underWay && failure?.kind !== 'outcome_unknown') {
    const timeoutMs = Math.max(run.settings.httpTimeoutMs, reading.timeoutMs ?? 0);
    const over = (reading.markedAt ?? Date.now()) + timeoutMs + LATE_ANSWER_MS;
    await sleep(Math.max(1, over - Date.now()), { summary: 'Wait for a late answer' });
    reading = await read();
  }
  if (reading.filingEnded) throw new FilingMovedOn('The filing has ended.');
  return judge(run, reading, failure);
}

function judge(run: FilingRun, reading: AttemptReading, failure: ReadFailure | null): Sent {
  if (reading.verdict === 'accepted' && reading.answer) {
    return { verdict: 'answered', answer: reading.answer, attemptId: reading.attemptId };
  }
  if (reading.verdict !== null && NOT_FILED.includes(reading.verdict)) {
    const lost: ReadFailure = { kind: null, message: reading.reason ?? 'nothing was sent', details: {} };
    return { verdict: 'not_sent', failure: failure ?? lost, answer: reading.answer };
  }
  // The ledger, restored from before the attempt, is complete: no other execution of the attempt has sent.
  if (reading.verdict === null && failure?.kind && decide(operationOf(run), failure.kind).action !== 'unknown')
    return { verdict: 'not_sent', failure, answer: null };
  return { verdict: 'unknown', reason: failure?.message ?? reading.reason ?? 'the worker that sent it was lost' };
}

const operationOf = ({ filing }: FilingRun) => (filing?.channel === 'bulk' ? 'bulkUpload' : 'pushIrm');

/** Whether the service refused the submission by a readable answer, so that nothing of it was accepted. */
function wasRefused({ kind, details }: ReadFailure): boolean {
  return kind !== null && kind !== 'outcome_unknown' && kind !== 'unexpected' && typeof details.status === 'number';
}

/** Adopts an answer; one without a request id is settled like a lost answer. @returns false to send again */
async function adopt(
  run: FilingRun,
  submission: number,
  { attemptId, answer, sentBy, adopted: known }: Omit<Extract<Sent, { verdict: 'answered' }>, 'verdict'>,
): Promise<boolean> {
  const { requestId = null, dgftAckId, ackStatus } = answer;
  // The earliest time of the send: an answer comes within one HTTP time-out of the mark.
  const sentAt = Date.now() - run.settings.httpTimeoutMs;
  run.noteSend(sentAs(attemptId, { requestId, sentBy, sentAt, dgftAckId, ackStatus }));
  if (known) await run.adoptState(known.filing);
  const step = run.steps('Record the acknowledgement');
  const adopt = () => step.adoptAnswer({ attemptId, answer, sentBy });
  const adopted = known ?? (await stepOnceWhole(run, adopt, { inRun: true }));
  if (adopted.requestId) return true;
  const reason = `${acknowledgedAs(run.stage(submission), ackStatus)} without a request id of its own to ask about`;
  return settle(run, submission, { attemptId, requestId: null, reason, answered: true });
}

/** @returns false to send the submission again. @throws FilingMovedOn when one of its requests is followed */
async function settle(run: FilingRun, submission: number, doubt: Doubt): Promise<boolean> {
  const outcome = await settleUnknown(run, submission, doubt);
  if (outcome.outcome === 'answered') return adopt(run, submission, outcome);
  if (outcome.outcome === 'followed') throw new FilingMovedOn('a request of the submission is followed');
  if (outcome.outcome === 'settled') return true;
  if (doubt.requestId === null) run.sends = withoutSend(run.sends, doubt.attemptId);
  return false;
}

/** After an attempt that was not filed: waits out a pause, refuses the submission, or waits for the next attempt. */
async function notSent(
  run: FilingRun,
  submission: number,
  { failure, answer }: Extract<Sent, { verdict: 'not_sent' }>,
  failures: number,
): Promise<void> {
  if (pauseReasonOf(failure.kind) !== null) {
    await waitOut(run, failure);
    return;
  }
  const kind: ErrorKind = failure.kind ?? 'not_sent';
  const decision = decide(operationOf(run), kind);
  if (decision.action === 'refuse') {
    throw new FilingRefused(submission, answer ?? { kind, message: failure.message }, []);
  }
  const schedule = 'schedule' in decision ? decision.schedule : { initialMs: 30_000, factor: 2, maxMs: 900_000 };
  const wait = kind === 'rate_limited' ? run.settings.rateWindowMs : delayMs(schedule, failures);
  const text = `nothing was sent (${failure.message}); attempt ${failures + 1} in ${Math.round(wait / 1000)} s`;
  const stuck = failures >= ATTEMPTS_UNTIL_ATTENTION;
  const attention = stuck ? `The submission has not got through ${failures} times: ${failure.message}` : null;
  await run.move('submitting', { kind: 'not_sent', text }, { attention, needsAttention: stuck });
  const { lateAnswers } = run;
  await run.wait(wait, `Send again after: ${failure.message}`, () => run.lateAnswers !== lateAnswers);
}
