/** A person's answer to the question whether a submission was filed. */
import type { SubmissionStage } from '../../activities/filings/open-filing';
import type { StoredAnswer } from '../../domain/filing/attempt';
import type { ResolveArgs } from '../../domain/contracts';
import { calls } from '../activity-profiles';
import type { FilingRun } from './filing-run';
import { lookForCertificates } from './gather-evidence';
import { onceLedgerIsWhole } from './ledger-waits';
import { adoptSaidRequest } from './request-check';
import type { Attempt } from './submit-filing';

export type Settled =
  | { outcome: 'answered'; answer: StoredAnswer; attemptId: string }
  /** A person found the request. */
  | { outcome: 'filed'; requestId: string; submittedAt: number }
  /** Nothing was filed: a person says so, or the worker that held the attempt does, which wrote nothing. */
  | { outcome: 'resend' }
  /** Every row has its certificate, or waits for a correction because a person says that it was not filed. */
  | { outcome: 'settled' };

/** What a person said cannot be so; `settled` where that is known instead. */
interface Contradicted {
  outcome: 'contradicted';
  why: string;
  settled: Settled | null;
}

/** An attempt whose outcome is unknown, with its mark as it was read before this round. */
export interface AskedAttempt extends Attempt {
  markedAt: number | null;
}

/** Carries out what a person said; null when it changes nothing. An answer that cannot be so refuses its update. */
export async function resolve(run: FilingRun, stage: SubmissionStage, attempt: AskedAttempt): Promise<Settled | null> {
  const resolution = run.resolution;
  if (!resolution) return null;
  const { as, by, requestId } = resolution;
  try {
    const answered =
      as === 'filed' && requestId
        ? await filed(run, attempt, { ...resolution, requestId })
        : await notFiled(run, stage, attempt, resolution);
    if (answered.outcome !== 'contradicted') return answered;
    run.refusedResolution = { args: resolution, message: `${answered.why}.` };
    const data = { as, requestId: requestId ?? null, attemptId: attempt.attemptId };
    await run.note({ kind: 'resolve_refused', who: by, text: answered.why, data });
    return answered.settled;
  } finally {
    run.resolution = null;
  }
}

async function filed(
  run: FilingRun,
  { attemptId }: Attempt,
  { as, by, note, requestId }: ResolveArgs & { requestId: string },
): Promise<Settled | Contradicted> {
  const adopted = await adoptSaidRequest(run, attemptId, { by, requestId });
  if (adopted.doubt !== null) return { outcome: 'contradicted', why: adopted.doubt, settled: null };
  await run.move('processing', { kind: 'resolved', who: by, text: note, data: { as, requestId, attemptId } });
  return { outcome: 'filed', requestId, submittedAt: adopted.submittedAt };
}

async function notFiled(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: AskedAttempt,
  { as, by, note, unseen = false }: ResolveArgs,
): Promise<Settled | Contradicted> {
  // The last look may be an hour old: what appeared since would be filed a second time.
  const evidence = await lookForCertificates(run, stage, attempt);
  if (evidence?.openRows === 0) {
    const why = 'every row has its certificate by now, so it was filed';
    return { outcome: 'contradicted', why, settled: { outcome: 'settled' } };
  }
  const about = { summary: `Not filed, says ${by}` };
  const { attemptId, markedAt } = attempt;
  const lookFailed = evidence?.looked ? null : (evidence?.problem ?? 'its certificates could not be read');
  const said = await onceLedgerIsWhole(run, () =>
    calls('ledger', about).closeByPerson({ attemptId, markedAt, by, note, unseen, lookFailed }),
  );
  if (said.outcome === 'contradicted') return { outcome: 'contradicted', why: said.why, settled: null };
  const data = { as, requestId: null, attemptId, unseen };
  if (said.outcome === 'freed') {
    await run.note({ kind: 'resolved', who: by, text: note, data: { ...data, freed: said.freed } });
    return { outcome: 'settled' };
  }
  await run.move('submitting', { kind: 'resolved', who: by, text: note, data });
  return { outcome: 'resend' };
}
