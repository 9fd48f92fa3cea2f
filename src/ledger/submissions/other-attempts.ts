import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';

/**
 * Another attempt of a submission that may have been filed as well as the one under `requestId`: it is on its way or of
 * unknown outcome, or it was accepted under another request. What the authority says of one of them frees no row then.
 * Locks the filing. @returns its id, or null
 */
export async function otherAttemptInDoubt(
  client: Queryable,
  { filingId, submission, requestId }: { filingId: string; submission: number; requestId: string },
): Promise<string | null> {
  await lockFiling(client, filingId);
  const { rows } = await client.query<{ attemptId: string }>(
    `SELECT attempt_id AS "attemptId" FROM attempts
      WHERE filing_id = $1 AND submission = $2 AND EXISTS (SELECT FROM attempts o WHERE o.filing_id = $1 AND o.submission = $2
          AND o.state = 'answered' AND o.answer ->> 'requestId' = $3)
        AND (state = 'sending' OR (state = 'answered' AND answer ->> 'requestId' IS DISTINCT FROM $3))
      ORDER BY number LIMIT 1`,
    [filingId, submission, requestId],
  );
  return rows[0]?.attemptId ?? null;
}

/**
 * The authority is done with one of two attempts: its rows without a certificate wait for what becomes of the other
 * one.
 */
export async function switchToOtherAttempt(
  client: Queryable,
  { filingId, submission, requestId, at }: { filingId: string; submission: number; requestId: string; at: Date },
): Promise<void> {
  await client.query(
    `UPDATE attempts SET state = 'not_sent', reason = $4, closed_at = $5
      WHERE filing_id = $1 AND submission = $2 AND state = 'answered' AND answer ->> 'requestId' = $3`,
    [filingId, submission, requestId, `the authority rejected request ${requestId}`, at],
  );
  await client.query(
    `UPDATE attempts SET late = false WHERE filing_id = $1 AND submission = $2 AND attempt_id =
        (SELECT attempt_id FROM attempts WHERE filing_id = $1 AND submission = $2 AND state <> 'not_sent' ORDER BY number LIMIT 1)
        AND NOT EXISTS (SELECT FROM attempts WHERE filing_id = $1 AND submission = $2 AND state <> 'not_sent' AND NOT late)`,
    [filingId, submission],
  );
  await client.query(
    `UPDATE submissions SET state = 'planned', request_id = NULL, dgft_ack_id = NULL, ack_status = NULL, submitted_at = NULL,
        poll_state = '{}', processing_status = NULL WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission],
  );
  await client.query(
    `UPDATE filing_rows SET state = 'unknown' WHERE filing_id = $1 AND submission = $2 AND state = 'submitted'`,
    [filingId, submission],
  );
}

/**
 * The service acknowledged a submission as Failed, and at the end of the settle window does not know its request and
 * shows no certificate: nothing was filed. Closes the attempt, so that its rows can be freed; doing it again changes
 * nothing. Must run in a transaction.
 * @returns `kept` while the window is open, a row has its certificate, or the acknowledgement did not say Failed;
 * `other_attempt` when another attempt of the submission is to be looked into
 */
export async function closeUnknownRequest(
  client: Queryable,
  args: { filingId: string; submission: number; requestId: string; settleAfterMs: number; at: Date },
): Promise<'closed' | 'kept' | 'other_attempt'> {
  const { filingId, submission, requestId, settleAfterMs, at } = args;
  const other = await otherAttemptInDoubt(client, args);
  const reason = `acknowledged as Failed, and the service does not know request ${requestId}`;
  const { rows } = await client.query<{ attemptId: string }>(
    `SELECT attempt_id AS "attemptId" FROM attempts
      WHERE filing_id = $1 AND submission = $2 AND answer ->> 'requestId' = $3
        AND (state = 'answered' OR (state = 'not_sent' AND reason = $6)) AND lower(answer ->> 'ackStatus') = 'failed' AND coalesce(sending_at, answered_at) + $4 * interval '1 ms' <= $5
        AND NOT EXISTS (SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND ebrc_number IS NOT NULL)`,
    [filingId, submission, requestId, settleAfterMs, at, reason],
  );
  const attempt = rows[0];
  if (!attempt) return 'kept';
  if (other !== null) {
    await switchToOtherAttempt(client, args);
    return 'other_attempt';
  }
  await client.query(`UPDATE attempts SET state = 'not_sent', reason = $2, closed_at = $3 WHERE attempt_id = $1`, [
    attempt.attemptId,
    reason,
    at,
  ]);
  return 'closed';
}
