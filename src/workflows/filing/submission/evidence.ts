/** Polls a submission's requests, and gathers evidence about a submission of unknown outcome. */
import type { Evidence } from '../../../activities/filings/looks';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { helpful, interruptible, recordFailureAndContinue, throughPauses } from '../pauses';
import { freshenBalances } from '../prepare-filing';
import type { PollResult } from '../../../activities/filings/poll-status';

const ROUNDS_IN_WINDOW = 24;
const MIN_ROUND_MS = 5_000;
const MAX_ROUND_MS = 10 * 60_000;
const ROUND_AFTER_ASKING_MS = 60 * 60_000;

/** Time between two rounds of evidence: shorter within the settle window, up to an hour once a person was asked. */
export function roundMs(settleAfterMs: number, asked: boolean): number {
  const within = Math.min(MAX_ROUND_MS, Math.max(MIN_ROUND_MS, settleAfterMs / ROUNDS_IN_WINDOW));
  return asked ? Math.min(ROUND_AFTER_ASKING_MS, within * 6) : within;
}

/** The options that name agreeing certificates, filled in when only one row and one certificate can be meant. */
export function namingOptions(evidence: Evidence | null): { certificate: string; notOurs: string } {
  const pair = evidence?.pair;
  return pair
    ? { certificate: `--certificate ${pair.row}=${pair.eBRCNumber}`, notOurs: `--not-ours ${pair.eBRCNumber}` }
    : { certificate: '--certificate ROW=NUMBER', notOurs: '--not-ours NUMBER for each of them' };
}

/** Reads balances, then certificates; again if a balance contradicts a certificate. @returns null after a failure */
export async function gather(run: FilingRun, submission: number, attemptId: string | null): Promise<Evidence | null> {
  const evidence = await look(run, submission, attemptId);
  return evidence && evidence.contradicted.length > 0 ? look(run, submission, attemptId) : evidence;
}

async function look(run: FilingRun, submission: number, attemptId: string | null): Promise<Evidence | null> {
  await freshenBalances(run);
  return recordFailureAndContinue(run, { kind: 'no_evidence', text: 'No evidence could be gathered' }, () =>
    throughPauses(run, () => gatherEvidence(run, submission, attemptId)),
  );
}

/** Looks at the certificates and certifies the rows that have theirs. */
export async function gatherEvidence(run: FilingRun, submission: number, attemptId: string | null): Promise<Evidence> {
  const { filingId, exporterId } = run;
  const look = run.calls('helpful', 'Look for certificates of the lost submission', 'details', 1);
  const args = { filingId, submission, exporterId, attemptId };
  const { filing, ...evidence } = await interruptible(run, () => look.gatherEvidence(args));
  await run.adoptState(filing);
  return evidence;
}

/** Polls the requests once. @returns null after a failure, which an event records and which is no evidence */
export function lookAtRequest(run: FilingRun, submission: number): Promise<PollResult | null> {
  const problem = { kind: 'poll_refused', text: 'The request could not be asked about' };
  return helpful(run, problem, () => pollRequests(run, submission, 'helpful'));
}

/** Whether the run still polls a request of the submission. The sweep polls those of settled submissions. */
export const isFollowed = ({ state, requests }: SubmissionStage): boolean =>
  state !== 'settled' && requests.some((request) => request.state === 'followed');

/**
 * Polls the filing's other submissions once, so that they get their outcome although this one may wait for days.
 * @throws FilingMovedOn when rows of one are in doubt: the run then takes up the first submission in doubt
 */
export async function lookAtOthers(run: FilingRun, submission: number): Promise<void> {
  for (const { submission: other } of run.now.submissions) {
    if (other === submission || !isFollowed(run.stage(other))) continue;
    const polled = await lookAtRequest(run, other);
    if (polled?.outcome === 'doubt') throw new FilingMovedOn('rows without an outcome are looked into');
    await run.adoptState(polled?.filing);
  }
}

/** Polls the requests until there is an outcome; with profile `helpful` only once. */
export function pollRequests(
  run: FilingRun,
  submission: number,
  profile: 'poll' | 'helpful' = 'poll',
): Promise<PollResult> {
  const { requests, ackErrors } = run.stage(submission);
  const summary = `Status of request ${requests.map(({ requestId }) => requestId).join(', ')}`;
  const sends = run.sends.filter((send) => send.submission === submission);
  const args = { filingId: run.filingId, submission, ackErrors, sends, ...(profile === 'helpful' && { once: true }) };
  return run.calls(profile, summary, 'api').pollStatus(args);
}
