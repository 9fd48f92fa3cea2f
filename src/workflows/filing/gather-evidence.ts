/** Looking for what became of a lost submission. */
import type { SubmissionStage } from '../../activities/filings/open-filing';
import type { Evidence } from '../../activities/filings/settle';
import { calls } from '../activity-profiles';
import type { FilingRun } from './filing-run';
import { interruptible } from './interruptible';
import { orNoted } from './or-noted';
import { throughPauses } from './pauses';
import { freshenBalances } from './prepare-filing';
import type { Attempt } from './submit-filing';

/** One round: live balances, then certificates. */
export async function gather(run: FilingRun, stage: SubmissionStage, attempt: Attempt): Promise<Evidence | null> {
  await freshenBalances(run);
  return lookForCertificates(run, stage, attempt);
}

/** Adopts the certificates that are there. A look that fails is no evidence of anything: null. */
export async function lookForCertificates(
  run: FilingRun,
  stage: SubmissionStage,
  attempt: Attempt,
): Promise<Evidence | null> {
  const { filingId, exporterId } = run;
  const about = { summary: 'Look for certificates of the lost submission', rateClass: 'details' as const, exporterId };
  const args = { filingId, submission: stage.submission, exporterId, attemptId: attempt.attemptId };
  return orNoted(run, { kind: 'no_evidence', text: 'No evidence could be gathered' }, () =>
    throughPauses(run, () => interruptible(run, () => calls('helpful', about).gatherEvidence(args))),
  );
}
