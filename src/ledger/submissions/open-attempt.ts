/** Opens the attempt for a send, or says why there is none. */
import { attemptIdOf, type AttemptVerdict } from '../../domain/filing/attempt';
import type { FilingState, SubmissionState } from '../../domain/filing/states';
import { lockFiling } from '../filings/filing-lock';
import { FilingMissing } from '../filings/filing-missing';
import type { Queryable } from '../pool';
import { holderBeside } from '../rows/live-mappings';
import { absenceToConfirm } from '../gates/absence';
import { latestAttempt, standingAttempt } from './attempts';
import { certificatesToRead, doubtAttempt, doubtRows, lostTimeCertificates } from './lost-time';
import { nextRequest } from './requests';
import { needSubmission } from './submissions';

/** State of a submission that a run wants to send. */
export type OpenedAttempt =
  /** The attempt to send with or, if its verdict is not `open`, the one that has already been sent. */
  | { outcome: 'attempt'; attemptId: string; number: number; verdict: AttemptVerdict }
  /** The submission cannot be sent any more: a request of it is followed, or it is settled or released. */
  | { outcome: 'passed'; state: SubmissionState }
  /**
   * Nothing of the exporter is sent before its certificates from `from` on were read after `until`; ms since the epoch.
   */
  | { outcome: 'wait'; until: number; from: number }
  /**
   * Its rows were released as not filed: a complete look at the certificates from `from` on has to begin after `since`
   * first (ms since the epoch); or certificates agree with them, which two persons have to name as another filing's.
   */
  | { outcome: 'look'; since: number; from: number; agreeing: string[] }
  /** Rows of it must not be sent any more; `why` gives the reason. */
  | { outcome: 'rows_gone'; reason: string }
  /** The filing has ended. */
  | { outcome: 'ended'; state: FilingState };

interface SubmissionToSend {
  filingId: string;
  submission: number;
  at: Date;
}

/**
 * Opens a submission's next attempt, or returns the current one: open, sending or answered. A repeated step finds the
 * attempt that the first one opened. With `after`, for a step that may be late, a new one is opened only if that is the
 * number of the last attempt (0: none); otherwise the run has gone on without the step, and null is returned. Must run
 * in a transaction.
 */
export function openAttempt(client: Queryable, of: SubmissionToSend): Promise<OpenedAttempt>;
export function openAttempt(client: Queryable, of: SubmissionToSend & { after: number }): Promise<OpenedAttempt | null>;
export async function openAttempt(
  client: Queryable,
  { filingId, submission, at, after }: SubmissionToSend & { after?: number },
): Promise<OpenedAttempt | null> {
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  if (filing.ended) return { outcome: 'ended', state: filing.state };
  const { state } = await needSubmission(client, filingId, submission);
  // An acknowledgement without a request id to poll is settled like a lost answer.
  if (state === 'settled' || state === 'released' || (await nextRequest(client, filingId, submission)))
    return { outcome: 'passed', state };
  const standing = await standingAttempt(client, filingId, submission);
  if (standing) {
    if (standing.verdict === 'open') await noteSnapshot(client, standing.attemptId);
    return { outcome: 'attempt', ...standing };
  }
  const last = await latestAttempt(client, filingId, submission);
  if (after !== undefined && (last?.number ?? 0) !== after) return null;
  const gone = await rowsGone(client, filingId, submission);
  if (gone !== null) return { outcome: 'rows_gone', reason: gone };
  const wait = await certificatesToRead(client, filing.exporterId);
  if (wait) return { outcome: 'wait', until: wait.until.getTime(), from: wait.from.getTime() };
  const number = (last?.number ?? 0) + 1;
  // Only before the first attempt: a person may have said since that it was not filed.
  const lost = last === null ? await lostTimeCertificates(client, { filingId, submission }) : null;
  if (lost && (lost.agreeing.length > 0 || !lost.readable)) {
    const doubted = { filingId, submission, number, at: lost.since };
    await doubtRows(client, { ...doubted, submissions: [submission] });
    return { outcome: 'attempt', attemptId: await doubtAttempt(client, doubted), number, verdict: 'marked' };
  }
  const absence = await absenceToConfirm(client, { filingId, submission, at });
  if (absence && (!absence.looked || absence.agreeing.length > 0)) return { outcome: 'look', ...absence };
  const attemptId = attemptIdOf(filingId, submission, number);
  await client.query(`INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1, $2, $3, $4)`, [
    attemptId,
    filingId,
    submission,
    number,
  ]);
  await noteSnapshot(client, attemptId);
  return { outcome: 'attempt', attemptId, number, verdict: 'open' };
}

/**
 * The newest snapshot of the submission was taken before this attempt, unless it belongs to another attempt: then none
 * was taken. Decided by the order of writing, not by a worker's clock.
 */
async function noteSnapshot(client: Queryable, attemptId: string): Promise<void> {
  await client.query(
    `UPDATE attempts a SET snapshot_id = s.id
       FROM (SELECT max(n.snapshot_id) AS id FROM snapshots n JOIN attempts o USING (filing_id, submission) WHERE o.attempt_id = $1) AS s
      WHERE a.attempt_id = $1 AND s.id IS NOT NULL AND NOT EXISTS (SELECT FROM attempts t WHERE t.filing_id = a.filing_id
        AND t.submission = a.submission AND t.attempt_id <> $1 AND t.snapshot_id >= s.id)`,
    [attemptId],
  );
}

async function rowsGone(client: Queryable, filingId: string, submission: number): Promise<string | null> {
  const { rows } = await client.query<{ gone: number; why: string | null }>(
    `SELECT count(*)::int AS gone, min(errors ->> 0) AS why FROM filing_rows
      WHERE filing_id = $1 AND submission = $2 AND NOT (live AND state = 'planned')`,
    [filingId, submission],
  );
  const { gone = 0, why = null } = rows[0] ?? {};
  if (gone > 0) return why ?? `${gone} rows of the submission are not to be sent any more`;
  const holder = await holderBeside(client, filingId, submission);
  return (
    holder &&
    `Filing ${holder} holds a mapping of it too, which was found after both were recorded: see to that one first.`
  );
}
