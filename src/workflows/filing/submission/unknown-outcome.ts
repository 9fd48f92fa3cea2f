/** Settles an unknown outcome: a lost answer, or the service's statement that nothing was filed. Asks a person last. */
import { asSentence } from '../../../domain/text';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { Evidence } from '../../../activities/filings/looks';
import { NOT_FILED, type StoredAnswer, sentAs } from '../../../domain/filing/attempt';
import { certificatesAgree } from '../../../domain/filing/questions';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { stepOnceWhole } from '../pauses';
import { collectAlone, adoptRefusal } from '../finish-filing';
import { gather, lookAtOthers, lookAtRequest, namingOptions, roundMs } from './evidence';
import { carryOutAnswer } from './person-answer';

export type Settled =
  | { outcome: 'answered'; answer: StoredAnswer; attemptId: string }
  /** A request is being processed. */
  | { outcome: 'followed' }
  /** Nothing was filed: a person says so, or the ledger's verdict on the attempt does. */
  | { outcome: 'resend' }
  /** Every row has its outcome, or was freed because nothing was filed. */
  | { outcome: 'settled' };

/** The most certificates that the question names; the evidence holds all. */
const CANDIDATES_NAMED = 5;
/** The most reasons of a failed acknowledgement that a text names. */
const REASONS_NAMED = 5;

export type Doubt = { reason: string } & (
  | {
      attemptId: string;
      requestId: null;
      /** The attempt has an answer without a request id to poll. */ answered?: boolean;
    }
  /** The service does not know the request, or reports it Errored with nothing listed, or lists other rows. */
  | { attemptId: string | null; requestId: string }
);

/** Gathers evidence until an answer, a certificate for every row, the service's statement or a person settles it. */
export async function settleUnknown(run: FilingRun, submission: number, doubt: Doubt): Promise<Settled> {
  return run.requests.whileAnswering(doubt, () => gatherUntilSettled(run, submission, doubt));
}

async function gatherUntilSettled(run: FilingRun, submission: number, doubt: Doubt): Promise<Settled> {
  const { endsAt, windowMs } = await begin(run, submission, doubt);
  for (let asked = false; ;) {
    const { lateAnswers } = run;
    const settled = await (doubt.requestId === null ? readAttemptNews(run, doubt) : readRequestNews(run, submission));
    if (settled) return settled;
    const carried = await carryOutAnswer(run, submission);
    if (run.state === 'collecting') return { outcome: 'settled' };
    if (carried?.outcome === 'again') return { outcome: 'resend' };
    if (carried) throw new FilingMovedOn('a person’s answer was carried out');
    const evidence = await gather(run, submission, doubt.requestId === null ? doubt.attemptId : null);
    if (evidence?.openRows === 0) return { outcome: 'settled' };
    await lookAtOthers(run, submission);
    if (Date.now() >= endsAt) {
      const concluded = evidence?.looked ? await conclude(run, submission, doubt) : null;
      if (concluded) return concluded;
      if (!asked) await ask(run, submission, doubt, evidence);
      asked = true;
      // A person's answer may take days; collect the PDFs of rows that are certified already.
      await collectAlone(run);
    }
    await run.wait(
      roundMs(windowMs, asked),
      'Gather evidence again',
      () => run.requests.answered || run.lateAnswers !== lateAnswers,
    );
  }
}

/** Shows the question. @returns its settle window, which a run that takes the question over keeps; epoch ms and ms */
async function begin(run: FilingRun, submission: number, doubt: Doubt) {
  const { settleAfterMs: ownMs } = run.settings;
  const { reason } = doubt;
  const attention = (endsAt: number) => ({
    attention:
      `It is not known whether submission ${submission} was filed: ${asSentence(reason)} Evidence is gathered until ` +
      `${new Date(endsAt).toISOString()}.`,
  });
  const event = { kind: 'outcome_unknown', text: reason };
  if (doubt.requestId !== null) {
    const request = run.stage(submission).requests.find(({ requestId }) => requestId === doubt.requestId);
    const endsAt = (request?.since ?? Date.now()) + ownMs;
    await run.move('outcome_unknown', event, attention(endsAt));
    return { endsAt, windowMs: ownMs };
  }
  const { attemptId } = doubt;
  const first = await stepOnceWhole(run, ({ seq }) =>
    run.steps('Check for a late answer').readAttempt({ attemptId, seq }),
  );
  // A longer window of the sender counts: until its end every "not filed" is refused.
  const windowMs = Math.max(ownMs, first.settleMs ?? 0);
  const endsAt = (first.markedAt ?? Date.now()) + windowMs;
  if (!doubt.answered) run.noteSend(sentAs(attemptId, { requestId: null, sentAt: first.markedAt }));
  const step = run.steps('Record that the outcome is unknown');
  await run.step(() => {
    const move = run.nextMove('outcome_unknown', event, attention(endsAt));
    return step.markRowsUnknown({ attemptId, move });
  });
  return { endsAt, windowMs };
}

/** Reads whether the attempt was answered or closed since; proven unsent, the filing moves to `submitting`. */
async function readAttemptNews(
  run: FilingRun,
  { attemptId, answered = false }: { attemptId: string; answered?: boolean },
): Promise<Settled | null> {
  const event = { kind: 'not_sent', text: 'nothing was sent after all' };
  const step = run.steps('Check for a late answer');
  const late = await stepOnceWhole(run, ({ seq }) =>
    step.readAttempt({ attemptId, seq, unsent: run.nextMove('submitting', event) }),
  );
  if (late.filingEnded) throw new FilingMovedOn('The filing has ended.');
  const isKnownAnswer = answered && late.attemptId === attemptId;
  if (!isKnownAnswer && late.verdict === 'accepted' && late.answer?.kind === 'accepted' && late.answer.requestId) {
    return { outcome: 'answered', answer: late.answer, attemptId: late.attemptId };
  }
  return late.verdict !== null && NOT_FILED.includes(late.verdict) ? { outcome: 'resend' } : null;
}

async function readRequestNews(run: FilingRun, submission: number): Promise<Settled | null> {
  const polled = await lookAtRequest(run, submission);
  await run.adoptState(polled?.filing);
  if (polled?.outcome === 'settled') return { outcome: 'settled' };
  if (polled?.outcome === 'doubt' && polled.requestId !== null) throw new FilingMovedOn('a request has ended');
  if (polled?.outcome !== 'not_yet' || polled.requestId === null) return null;
  const text = `the service knows request ${polled.requestId} now`;
  await run.move('processing', { kind: 'request_known', text });
  return { outcome: 'followed' };
}

/** Frees rows by the service's statement about a request, if a complete look showed no certificate of it. */
async function conclude(run: FilingRun, submission: number, doubt: Doubt): Promise<Settled | null> {
  const { requestId } = doubt;
  if (requestId === null) return null;
  const { ackErrors: errors } = run.stage(submission);
  const steps = run.steps('Conclude what the service says of the request');
  const concluded = await stepOnceWhole(run, (held) =>
    steps.concludeStatement({ ...held, submission, requestId, errors }),
  );
  if (!concluded.freed) return null;
  if (run.state !== 'collecting') await adoptRefusal(run, submission, concluded);
  return { outcome: 'settled' };
}

/** How the service acknowledged a submission, with the reasons if not as Validated. */
export function acknowledgedAs({ requests, ackErrors }: SubmissionStage, ackStatus?: string | null): string {
  const status = ackStatus ?? requests[0]?.ackStatus ?? null;
  if (status === null || status === 'Validated') return 'the service acknowledged it';
  const reasons = ackErrors.length > 0 ? ` (${ackErrors.slice(0, REASONS_NAMED).join('; ')})` : '';
  return `the service acknowledged it as ${status}${reasons}`;
}

/** The settle window is over: shows what was found and asks a person. */
async function ask(run: FilingRun, submission: number, doubt: Doubt, evidence: Evidence | null): Promise<void> {
  const { filingId } = run;
  const stage = run.stage(submission);
  const agreeing = evidence?.agreeing ?? [];
  const ended = doubt.requestId === null ? stage.requests.filter(({ state }) => state === 'ended') : [];
  const found = [
    ...(stage.requests.length > 0 ? [acknowledgedAs(stage)] : []),
    ...(ended.length > 0 ? [`request ${ended.map(({ requestId }) => requestId).join(', ')} has ended`] : []),
    `rows without a certificate: ${evidence?.openRows ?? stage.rowCount} of ${stage.rowCount}`,
    ...(agreeing.length > 0
      ? [`${certificatesAgree(agreeing)} with its rows, but could belong to other rows too`]
      : []),
    ...(evidence?.contradicted
      .map(({ eBRCNumber, why }) => `${eBRCNumber} would fit, but ${why}`)
      .slice(0, CANDIDATES_NAMED) ?? []),
    ...(evidence?.problem ? [evidence.problem] : evidence ? [] : ['the certificates could not be looked at']),
  ].join('; ');
  const proven = evidence !== null && evidence.openRows < stage.rowCount;
  const resend = doubt.requestId === null && !proven && !stage.attempt?.refusedSince;
  const [resolve, by] = [`ebrc resolve ${filingId}`, 'two persons have to say it'];
  const { certificate, notOurs } = namingOptions(evidence);
  const byCertificate = `${certificate} --note TEXT (${by})`;
  const byRequest = `--request-id R --note TEXT${agreeing.length > 0 ? `, or ${byCertificate}` : ''}`;
  const filed = doubt.requestId === null ? byRequest : byCertificate;
  const then = resend ? 'it is sent again then' : 'its open rows can be corrected then';
  const attention =
    `Was submission ${submission} filed? ${found.charAt(0).toUpperCase()}${found.slice(1)}. Look at the evidence in \`ebrc show\` and at the portal. If it was filed${ended.length > 0 ? ' under another request' : ''}: ` +
    `${resolve} --as filed ${filed}. If it was not: ${resolve} --as not-filed ${agreeing.length > 0 ? `${notOurs} --note TEXT (${by})` : '--note TEXT'}; ${then}.`;
  await run.move('outcome_unknown', { kind: 'asked', text: 'a person has been asked', data: evidence }, { attention });
}
