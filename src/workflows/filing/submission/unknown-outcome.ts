/** A submission whose answer was lost: evidence is gathered, and a person is asked in the end. */
import { ActivityFailure, isCancellation } from '@temporalio/workflow';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { Evidence } from '../../../activities/filings/settle';
import type { ResolveArgs } from '../../../domain/contracts';
import type { AttemptReading, StoredAnswer } from '../../../domain/filing/attempt';
import { sentAs } from '../../../domain/filing/known-send';
import { calls } from '../../activity-profiles';
import { readFailure } from '../../failures';
import { FilingEnded, type FilingRun } from '../filing-run';
import { interruptible } from '../interruptible';
import { onceLedgerIsWhole } from '../ledger-waits';
import { recordFailureAndContinue } from '../record-failure';
import { throughPauses } from '../pauses';
import { freshenBalances } from '../prepare-filing';
import { adoptSaidRequest } from './request-check';

export interface Attempt {
  attemptId: string;
}

export type Settled =
  | { outcome: 'answered'; answer: StoredAnswer; attemptId: string }
  /** A person found the request. */
  | { outcome: 'filed'; requestId: string; submittedAt: number }
  /** Nothing was filed: a person states it, or the worker that held the attempt recorded that it wrote nothing. */
  | { outcome: 'resend' }
  /** Every row has its certificate, or waits for a correction because a person states that it was not filed. */
  | { outcome: 'settled' };

/** A person's answer is contradicted; `settled` where the outcome is known instead. */
interface Contradicted {
  outcome: 'contradicted';
  why: string;
  settled: Settled | null;
}

const ROUNDS_IN_WINDOW = 24;
const MIN_ROUND_MS = 5_000;
const MAX_ROUND_MS = 10 * 60_000;
const ROUND_AFTER_ASKING_MS = 60 * 60_000;
/** More certificates than these are in the evidence, not in the question. */
const CANDIDATES_NAMED = 5;
/** As many of the reasons of a failed acknowledgement. */
const REASONS_NAMED = 5;

/** Between two rounds of evidence: closer while an answer may appear, hourly once a person has been asked. */
export function roundMs(settleAfterMs: number, asked: boolean): number {
  const within = Math.min(MAX_ROUND_MS, Math.max(MIN_ROUND_MS, settleAfterMs / ROUNDS_IN_WINDOW));
  return asked ? Math.min(ROUND_AFTER_ASKING_MS, within * 6) : within;
}

/**
 * Gathers evidence until an answer, a certificate for every row, or a person settles the submission. `answered`: the
 * attempt has an answer already, without a request to ask about.
 */
export async function settleUnknown(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: Attempt,
  reason: string,
  answered = false,
): Promise<Settled> {
  const { requests } = run;
  requests.inQuestion = attempt.attemptId;
  try {
    return await requests.whileAnswering(() => gatherUntilSettled(run, stage, attempt, { reason, answered }));
  } finally {
    requests.inQuestion = null;
  }
}

async function gatherUntilSettled(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: Attempt,
  { reason, answered }: { reason: string; answered: boolean },
): Promise<Settled> {
  const { submission } = stage;
  const { attemptId } = attempt;
  const { settleAfterMs } = run.settings;
  // Of the attempt before, if a person was asked about that one.
  run.asked = false;
  const first = await readAgain(run, attempt);
  // The window counts from the mark: a run that takes the question over does not start it again.
  const since = first.markedAt ?? Date.now();
  if (!answered) run.noteSend(sentAs(attemptId, { requestId: null, sentAt: first.markedAt, accepted: false }));
  const until = new Date(since + settleAfterMs).toISOString();
  await run.stepTo(
    'outcome_unknown',
    { kind: 'outcome_unknown', text: reason },
    (move) => run.steps('Record that the outcome is unknown').markRowsUnknown({ attemptId, move }),
    {
      attention: `It is not known whether submission ${submission} was filed: ${reason}. Evidence is gathered until ${until}.`,
    },
  );
  for (let asked = false; ;) {
    const { lateAnswers } = run;
    const late = await readOrMoveOn(run, attempt);
    if (late.filingEnded) throw new FilingEnded('The filing has ended.');
    const known = answered && late.attemptId === attemptId;
    if (!known && late.verdict === 'answered' && late.answer?.kind === 'accepted' && late.answer.requestId) {
      return { outcome: 'answered', answer: late.answer, attemptId: late.attemptId };
    }
    if (late.verdict === 'not_sent') return { outcome: 'resend' };
    if (run.requests.resolution) {
      const resolved = await resolve(run, stage, { ...attempt, markedAt: late.markedAt });
      if (resolved) return resolved;
    }
    const evidence = await gather(run, stage, attempt);
    if (evidence?.openRows === 0) return { outcome: 'settled' };
    if (!asked && Date.now() - since >= settleAfterMs) {
      asked = true;
      run.asked = true;
      await ask(run, stage, evidence);
    }
    await run.wait(
      roundMs(settleAfterMs, asked),
      'Gather evidence again',
      () => run.requests.resolution !== null || run.lateAnswers !== lateAnswers,
    );
  }
}

function readAgain(run: FilingRun, { attemptId }: Attempt): Promise<AttemptReading> {
  return onceLedgerIsWhole(run, () =>
    run.readInTurn(() => run.steps('Check for a late answer').readAttempt({ attemptId })),
  );
}

/**
 * As `readAgain`. A worker that was given up on may have closed its attempt since, because nothing was written or the
 * service refused it. That is proof, so the filing goes on to its next attempt.
 */
function readOrMoveOn(run: FilingRun, { attemptId }: Attempt): Promise<AttemptReading> {
  const event = { kind: 'not_sent', text: 'nothing was sent after all' };
  return onceLedgerIsWhole(run, () =>
    run.stepTo('submitting', event, (move) =>
      run.steps('Check for a late answer').readUnknownAttempt({ attemptId, move }),
    ),
  );
}

/** How the service acknowledged a submission, with its reasons where it did so as Failed. */
export function acknowledgedAs({ ackStatus, ackErrors = [] }: SubmissionStage): string {
  if (ackStatus === null || ackStatus === 'Validated') return 'the service acknowledged it';
  const reasons = ackErrors.length > 0 ? ` (${ackErrors.slice(0, REASONS_NAMED).join('; ')})` : '';
  return `the service acknowledged it as ${ackStatus}${reasons}`;
}

/** The settle window is over: what was found is shown and a person decides. */
async function ask(run: FilingRun, stage: SubmissionStage, evidence: Evidence | null): Promise<void> {
  const { filingId } = run;
  const candidates = [...new Set(evidence?.ambiguous.flatMap((each) => each.candidates))].slice(0, CANDIDATES_NAMED);
  const moved = evidence?.balances.filter((balance) => balance.before !== balance.after).length ?? 0;
  const found = [
    ...(stage.ackStatus ? [acknowledgedAs(stage)] : []),
    `${evidence?.openRows ?? stage.rowCount} of ${stage.rowCount} rows have no certificate`,
    `${moved} of ${evidence?.balances.length ?? 0} IRM balances changed since they were last read before the send (other filings may be why)`,
    ...(candidates.length > 0
      ? [`certificates ${candidates.join(', ')} may be theirs, but could be those of other rows too`]
      : []),
    ...(evidence?.problem ? [evidence.problem] : []),
  ].join('; ');
  const proven = evidence !== null && evidence.openRows < stage.rowCount;
  const otherwise = proven ? 'which leaves the open rows to a correction' : 'which sends it again';
  const attention =
    `Was submission ${stage.submission} filed? ${found}. Look at the portal, then: ebrc resolve ${filingId} --as filed ` +
    `--request-id R --note TEXT, or ebrc resolve ${filingId} --as not-filed --note TEXT, ${otherwise}.`;
  await run.move('outcome_unknown', { kind: 'asked', text: 'a person has been asked', data: evidence }, { attention });
}

/** An attempt whose outcome is unknown, with its mark as it was read before this round. */
interface AskedAttempt extends Attempt {
  markedAt: number | null;
}

/** Carries out a person's answer; null when it changes nothing. A contradicted answer refuses its update. */
async function resolve(run: FilingRun, stage: SubmissionStage, attempt: AskedAttempt): Promise<Settled | null> {
  const resolution = run.requests.resolution;
  if (!resolution) return null;
  const { as, by, requestId } = resolution;
  const answered =
    as === 'filed' && requestId
      ? await filed(run, attempt, { ...resolution, requestId })
      : await notFiled(run, stage, attempt, resolution);
  if (answered.outcome !== 'contradicted') {
    run.requests.resolved();
    return answered;
  }
  const data = { as, requestId: requestId ?? null, attemptId: attempt.attemptId };
  const event = { kind: 'resolve_refused', who: by, text: answered.why, data };
  await run.requests.contradictResolution(`${answered.why}.`, event);
  return answered.settled;
}

async function filed(
  run: FilingRun,
  { attemptId }: Attempt,
  word: ResolveArgs & { requestId: string },
): Promise<Settled | Contradicted> {
  const adopted = await adoptSaidRequest(run, attemptId, word);
  if (adopted.doubt !== null) return { outcome: 'contradicted', why: adopted.doubt, settled: null };
  return { outcome: 'filed', requestId: word.requestId, submittedAt: adopted.submittedAt };
}

async function notFiled(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: AskedAttempt,
  { as, by, note, unseen = false }: ResolveArgs,
): Promise<Settled | Contradicted> {
  // The last look may be an hour old: what appeared since would be filed a second time.
  const { evidence, lookFailed } = await lookOnce(run, stage, attempt);
  if (evidence?.openRows === 0) {
    const why = 'every row has its certificate by now, so it was filed';
    return { outcome: 'contradicted', why, settled: { outcome: 'settled' } };
  }
  const { attemptId, markedAt } = attempt;
  const word = { attemptId, markedAt, by, note, unseen, lookFailed };
  const event = { kind: 'resolved', who: by, text: note, data: { as, requestId: null, attemptId, unseen } };
  const said = await onceLedgerIsWhole(run, () =>
    run.stepTo('submitting', event, (move) =>
      run.steps(`Record “not filed”, stated by ${by}`).closeByPerson({ ...word, move }),
    ),
  );
  if (said.outcome === 'contradicted') return { outcome: 'contradicted', why: said.why, settled: null };
  await run.tookOverCollecting(said.collecting);
  return { outcome: said.outcome === 'freed' ? 'settled' : 'resend' };
}

/** One round: live balances, then certificates. */
async function gather(run: FilingRun, stage: SubmissionStage, attempt: Attempt): Promise<Evidence | null> {
  await freshenBalances(run);
  return lookForCertificates(run, stage, attempt);
}

/** Adopts the certificates that are there. A look that fails is no evidence of anything: null. */
async function lookForCertificates(run: FilingRun, stage: SubmissionStage, attempt: Attempt): Promise<Evidence | null> {
  return recordFailureAndContinue(run, { kind: 'no_evidence', text: 'No evidence could be gathered' }, () =>
    throughPauses(run, () => gatherEvidence(run, stage, attempt)),
  );
}

/**
 * As `lookForCertificates`, for a person who waits for the answer: what a filing would wait out (bad credentials, our
 * own access) is a look that failed too. `lookFailed`: why there is no evidence; null where there is.
 */
async function lookOnce(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: Attempt,
): Promise<{ evidence: Evidence | null; lookFailed: string | null }> {
  try {
    const evidence = await gatherEvidence(run, stage, attempt);
    return {
      evidence,
      lookFailed: evidence.looked ? null : (evidence.problem ?? 'its certificates could not be read'),
    };
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    return { evidence: null, lookFailed: readFailure(error).message };
  }
}

async function gatherEvidence(
  run: FilingRun,
  { submission }: SubmissionStage,
  { attemptId }: Attempt,
): Promise<Evidence> {
  const { filingId, exporterId } = run;
  const summary = 'Look for certificates of the lost submission';
  const about = { summary, rateClass: 'details', exporterId, priorityKey: 1 } as const;
  const args = { filingId, submission, exporterId, attemptId };
  const { moved, ...evidence } = await interruptible(run, () => calls('helpful', about).gatherEvidence(args));
  await run.tookOverCollecting(moved);
  return evidence;
}
