/** A submission whose answer was lost: evidence is gathered, nothing is guessed, and a person is asked in the end. */
import { continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { SubmissionStage } from '../activities/open-filing';
import type { Evidence } from '../activities/settle';
import type { StoredAnswer } from '../domain/attempt';
import { calls } from './activity-profiles';
import { readFailure } from './failures';
import type { FilingRun } from './filing-run';
import { interruptible } from './interruptible';
import { freshenBalances } from './prepare-filing';
import { throughPauses } from './pauses';
import type { Attempt } from './submit-filing';

export type Settled =
  | { outcome: 'answered'; answer: StoredAnswer }
  /** A person found the request. */
  | { outcome: 'filed'; requestId: string; submittedAt: number }
  /** Nothing was filed: a person says so, or the worker that held the attempt does, which wrote nothing. */
  | { outcome: 'resend' }
  /** Every row has its certificate, or waits for a correction because a person says that it was not filed. */
  | { outcome: 'settled' };

const ROUNDS_IN_WINDOW = 24;
const SHORTEST_ROUND_MS = 5_000;
const LONGEST_ROUND_MS = 10 * 60_000;
const ROUND_AFTER_ASKING_MS = 60 * 60_000;
/** More certificates than these are in the evidence, not in the question. */
const CANDIDATES_NAMED = 5;

/** Between two rounds of evidence: closer while an answer may appear, hourly once a person has been asked. */
export function roundMs(settleAfterMs: number, asked: boolean): number {
  const within = Math.min(LONGEST_ROUND_MS, Math.max(SHORTEST_ROUND_MS, settleAfterMs / ROUNDS_IN_WINDOW));
  return asked ? Math.min(ROUND_AFTER_ASKING_MS, within * 6) : within;
}

/** Gathers evidence until an answer, a certificate for every row, or a person settles the submission. */
export async function settleUnknown(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: Attempt,
  reason: string,
): Promise<Settled> {
  try {
    return await gatherUntilSettled(run, stage, attempt, reason);
  } finally {
    // A resolve that came while the last round settled it has nothing left to say; kept, it would hold the end up for ever.
    run.resolution = null;
  }
}

async function gatherUntilSettled(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: Attempt,
  reason: string,
): Promise<Settled> {
  const { filingId } = run;
  const { submission } = stage;
  const { settleAfterMs } = run.settings;
  const since = Date.now();
  // Of the attempt before, if a person was asked about that one.
  run.asked = false;
  await calls('ledger', { summary: 'The outcome is unknown' }).markRowsUnknown({ filingId, submission });
  const until = new Date(since + settleAfterMs).toISOString();
  await run.move(
    'outcome_unknown',
    { kind: 'outcome_unknown', text: reason },
    {
      attention: `It is not known whether submission ${submission} was filed: ${reason}. Evidence is gathered until ${until}.`,
    },
  );
  for (let asked = false; ;) {
    const late = await calls('ledger', { summary: 'Has a late answer come?' }).readAttempt(attempt);
    if (late.verdict === 'answered' && late.answer?.kind === 'accepted' && late.answer.requestId) {
      return { outcome: 'answered', answer: late.answer };
    }
    if (late.verdict === 'not_sent') return notSentAfterAll(run, stage, late.reason);
    if (run.resolution) {
      const resolved = await resolve(run, stage, attempt);
      if (resolved) return resolved;
    }
    const evidence = await gather(run, stage, attempt);
    if (evidence?.openRows === 0) return { outcome: 'settled' };
    if (!asked && Date.now() - since >= settleAfterMs) {
      asked = true;
      run.asked = true;
      await ask(run, stage, evidence);
    }
    if (workflowInfo().continueAsNewSuggested && !run.resolution) await continueAsNew(resumeInput(run));
    await run.wait(roundMs(settleAfterMs, asked), 'Gather evidence again', () => run.resolution !== null);
  }
}

/** The input with which a filing goes on in a new run: everything else is in the ledger. */
export function resumeInput(run: FilingRun) {
  const { mode, exporterId, reference, madeBy, correction } = run.input;
  return { mode, exporterId, reference, madeBy, correction, resume: run.filingId };
}

/** One round: live balances, then certificates. A round that fails is no evidence of anything. */
async function gather(run: FilingRun, stage: SubmissionStage, attempt: Attempt): Promise<Evidence | null> {
  const { filingId, exporterId } = run;
  const about = { summary: 'Look for certificates of the lost submission', rateClass: 'details' as const, exporterId };
  await freshenBalances(run);
  try {
    return await throughPauses(run, () =>
      interruptible(run, () =>
        calls('helpful', about).gatherEvidence({
          filingId,
          submission: stage.submission,
          exporterId,
          attemptId: attempt.attemptId,
        }),
      ),
    );
  } catch (error) {
    const failure = readFailure(error);
    if (failure.kind === null) throw error;
    await run.note({ kind: 'no_evidence', text: `No evidence could be gathered: ${failure.message}` });
    return null;
  }
}

/** The settle window is over: what was found is shown and a person decides. */
async function ask(run: FilingRun, stage: SubmissionStage, evidence: Evidence | null): Promise<void> {
  const { filingId } = run;
  const candidates = [...new Set(evidence?.ambiguous.flatMap((each) => each.candidates))].slice(0, CANDIDATES_NAMED);
  const moved = evidence?.balances.filter((balance) => balance.before !== balance.after).length ?? 0;
  const found = [
    `${evidence?.openRows ?? stage.rowCount} of ${stage.rowCount} rows have no certificate`,
    `${moved} of ${evidence?.balances.length ?? 0} IRM balances changed since they were last read before the send (other filings may be why)`,
    ...(candidates.length > 0
      ? [`certificates ${candidates.join(', ')} may be theirs, but fit more than one way`]
      : []),
    ...(evidence?.problem ? [evidence.problem] : []),
  ].join('; ');
  const proven = evidence !== null && evidence.openRows < stage.rowCount;
  const otherwise = proven ? 'which leaves the open rows to a correction' : 'which sends it again';
  const attention =
    `Was submission ${stage.submission} filed? ${found}. Look at the portal, then: ebrc resolve ${filingId} --as filed ` +
    `--request-id R --note TEXT, or ebrc resolve ${filingId} --as not-filed --note TEXT, ${otherwise}.`;
  await run.move('outcome_unknown', { kind: 'asked', text: 'a person is asked', data: evidence }, { attention });
}

/**
 * A worker that was given up on woke and closed its attempt, because nothing was written or the service refused it. That
 * is proof, so the rows are free to be sent again.
 */
async function notSentAfterAll(run: FilingRun, stage: SubmissionStage, reason: string | null): Promise<Settled> {
  const { filingId } = run;
  const { submission } = stage;
  await calls('ledger', { summary: 'Nothing was sent after all' }).markRowsPlanned({ filingId, submission });
  const text = `nothing was sent after all (${reason ?? 'the attempt is closed'})`;
  await run.move('submitting', { kind: 'not_sent', text });
  return { outcome: 'resend' };
}

/** What a person said; null when the ledger knows better, because an answer exists. */
async function resolve(run: FilingRun, stage: SubmissionStage, attempt: Attempt): Promise<Settled | null> {
  const resolution = run.resolution;
  if (!resolution) return null;
  const { filingId } = run;
  const { submission } = stage;
  const { as, by, note, requestId } = resolution;
  const data = { as, requestId: requestId ?? null };
  try {
    if (as === 'filed' && requestId) {
      const about = { summary: `Filed as ${requestId}, says ${by}` };
      const { submittedAt } = await calls('ledger', about).adoptRequestId({ filingId, submission, requestId });
      await run.move('processing', { kind: 'resolved', who: by, text: note, data });
      return { outcome: 'filed', requestId, submittedAt };
    }
    const { closed, freed } = await calls('ledger', { summary: `Not filed, says ${by}` }).closeByPerson({
      filingId,
      submission,
      attemptId: attempt.attemptId,
      by,
      note,
    });
    if (!closed) {
      await run.note({ kind: 'resolve_refused', who: by, text: 'an answer of the service exists: it was filed', data });
      return null;
    }
    if (freed !== undefined) {
      await run.note({ kind: 'resolved', who: by, text: note, data: { ...data, freed } });
      return { outcome: 'settled' };
    }
    await run.move('submitting', { kind: 'resolved', who: by, text: note, data });
    return { outcome: 'resend' };
  } finally {
    run.resolution = null;
  }
}
