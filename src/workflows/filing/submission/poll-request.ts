/** One look at the requests of a submission. */
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { PollResult } from '../../../activities/filings/poll-status';
import { calls } from '../../activity-profiles';
import type { FilingRun } from '../filing-run';
import { interruptible } from '../interruptible';
import { throughPauses } from '../pauses';
import { recordFailureAndContinue } from '../record-failure';

/** Asks until there is an outcome. */
export function pollRequests(run: FilingRun, stage: SubmissionStage): Promise<PollResult> {
  return calls('poll', about(run, stage)).pollStatus(pollArgs(run, stage));
}

/** Asks once, beside other evidence: a failure is an event, and no evidence of anything. */
export function lookAtRequest(
  run: FilingRun,
  stage: SubmissionStage,
  { once }: { once: true },
): Promise<PollResult | null> {
  const problem = { kind: 'poll_refused', text: 'The request could not be asked about' };
  return recordFailureAndContinue(run, problem, () =>
    throughPauses(run, () =>
      interruptible(run, () => calls('helpful', about(run, stage)).pollStatus({ ...pollArgs(run, stage), once })),
    ),
  );
}

const about = ({ exporterId }: FilingRun, { requests }: SubmissionStage) => ({
  summary: `Status of request ${requests.map(({ requestId }) => requestId).join(', ')}`,
  rateClass: 'api' as const,
  exporterId,
});

const pollArgs = ({ filingId, exporterId, sends }: FilingRun, { submission, ackErrors = [] }: SubmissionStage) => ({
  filingId,
  submission,
  exporterId,
  ackErrors,
  sends: sends.filter((send) => send.submission === submission),
});
