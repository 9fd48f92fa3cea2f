/**
 * A Failed acknowledgement whose request the service does not know: perhaps nothing was filed, perhaps it appears late.
 */
import type { FetchedCertificates } from '../../../activities/certificates/certificates';
import type { SubmissionStage } from '../../../activities/filings/open-filing';
import type { PollResult } from '../../../activities/filings/poll-status';
import { FilingMovedOn, type FilingRun } from '../filing-run';
import { onceLedgerIsWhole } from '../ledger-waits';
import { takeRefusal } from '../refusal';
import { roundMs } from './unknown-outcome';

interface Looks {
  /** One look at the request's status. */
  status: () => Promise<PollResult>;
  /** One look at the certificates; null where it failed. */
  certificates: () => Promise<FetchedCertificates | null>;
  /** Carries out what a person answered meanwhile. */
  answer: () => Promise<void>;
}

/**
 * Looks for the request and for its certificates until the settle window since the send is over. Absence counts only
 * then, when both looks worked and showed nothing. @returns what the status says once the request is known; null once
 * every row has its certificate, or the submission was refused because nothing was filed
 */
export async function settleUnknownRequest(
  run: FilingRun,
  stage: SubmissionStage,
  { status, certificates, answer }: Looks,
): Promise<PollResult | null> {
  const { submission, rowCount } = stage;
  const requestId = stage.requestId ?? '';
  const { settleAfterMs } = run.settings;
  const until = (stage.submittedAt ?? Date.now()) + settleAfterMs;
  const what = `The service acknowledged submission ${submission} as Failed and does not know request ${requestId}`;
  const attention = `${what}. It is looked for until ${new Date(until).toISOString()}; then its rows are free again.`;
  await run.move('outcome_unknown', { kind: 'request_unknown', text: what }, { attention });
  for (;;) {
    const seen = await certificates();
    if (seen?.open === 0) {
      stage.state = 'terminal';
      return null;
    }
    const polled = await status();
    if (polled.outcome !== 'unknown_request') {
      const known = { kind: 'request_known', text: `the service knows request ${requestId} now` };
      if (!polled.moved) await run.move('processing', known);
      return polled;
    }
    if (Date.now() >= until && seen?.problem === null && seen.open === rowCount) {
      const message = `${what}. ${(stage.ackErrors ?? []).join('; ')}`.trim();
      const closed = await onceLedgerIsWhole(run, () =>
        run.stepToEnd((held) =>
          run.steps('Close the unknown request').closeUnknownRequest({ ...held, submission, requestId, message }),
        ),
      );
      if (closed.outcome === 'other_attempt')
        throw new FilingMovedOn('another attempt of the submission is looked into');
      if (closed.outcome === 'closed') {
        await takeRefusal(run, submission, closed);
        return null;
      }
    }
    const left = until - Date.now();
    const round = roundMs(settleAfterMs, left <= 0);
    const wait = left > 0 ? Math.min(round, left) : round;
    await run.wait(wait, 'Check the request again', () => run.requests.resolution !== null);
    if (run.requests.resolution) await answer();
  }
}
