import { attemptIdOf, type StoredAnswer } from '../../domain/filing/attempt';
import type { KnownSend } from '../../domain/filing/known-send';
import type { SubmissionState } from '../../domain/filing/states';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';
import { holdAsSent } from '../rows/row-revival';
import { acknowledge } from './acknowledgement';
import { storeAnswer } from './answers';
import { closeOpenAttempts } from './attempts';
import { adoptRequestId } from './person-answers';

interface KnownSendsArgs {
  filingId: string;
  sends: readonly KnownSend[];
  at: Date;
}

/** Recorded for an attempt that the ledger had lost and a run's history contains. */
const SENT_BEFORE = 'it was sent before the ledger was put back to an earlier state';

/**
 * Adds to the ledger the sends of a filing that only its run's history contains: the answer to an attempt and the
 * request id under which its submission is polled, or only that it was sent. Whatever the ledger already has, or knows
 * in more detail, is kept, because a run that was reset knows less. Must run in a transaction.
 */
export async function mergeKnownSends(client: Queryable, { filingId, sends, at }: KnownSendsArgs): Promise<void> {
  if (sends.length === 0 || (await lockFiling(client, filingId)) === null) return;
  // Those with a request id first: the others are doubt about the same submission.
  const known = [...sends].sort((a, b) => Number(b.requestId !== null) - Number(a.requestId !== null));
  for (const send of known) {
    const state = await submissionState(client, filingId, send.submission);
    if (state === null || state === 'terminal' || state === 'settled') continue;
    const attemptId = attemptIdOf(filingId, send.submission, send.attempt);
    const { requestId } = send;
    if (requestId !== null && send.accepted) {
      await mergeAnswer(client, { attemptId, send, requestId, at });
      continue;
    }
    await mergeUnknownOutcome(client, { filingId, attemptId, send, at });
    if (requestId !== null && state !== 'acknowledged') {
      await adoptRequestId(client, { attemptId, requestId, at });
    }
  }
}

async function submissionState(
  client: Queryable,
  filingId: string,
  submission: number,
): Promise<SubmissionState | null> {
  const { rows } = await client.query<{ state: SubmissionState }>(
    'SELECT state FROM submissions WHERE filing_id = $1 AND submission = $2',
    [filingId, submission],
  );
  return rows[0]?.state ?? null;
}

interface KnownSendArgs {
  filingId: string;
  attemptId: string;
  send: KnownSend;
  at: Date;
}

async function mergeAnswer(
  client: Queryable,
  { attemptId, send, requestId, at }: Omit<KnownSendArgs, 'filingId'> & { requestId: string },
): Promise<void> {
  const { sentAt, dgftAckId, ackStatus } = send;
  const answer: StoredAnswer = { kind: 'accepted', requestId, dgftAckId, ackStatus };
  await storeAnswer(client, { attemptId, answer, at });
  await client.query('UPDATE attempts SET sending_at = coalesce(sending_at, $2) WHERE attempt_id = $1', [
    attemptId,
    sentAt === null ? null : new Date(sentAt),
  ]);
  await acknowledge(client, { attemptId, answer, at });
}

/**
 * An attempt that was sent although the ledger does not hold it. If the ledger holds it as open, it was marked in the
 * lost state; if the ledger is complete, that mark was never counted.
 */
async function mergeUnknownOutcome(client: Queryable, { filingId, attemptId, send, at }: KnownSendArgs): Promise<void> {
  const { submission, attempt } = send;
  const sentAt = send.sentAt === null ? null : new Date(send.sentAt);
  const { rowCount: held } = await client.query('SELECT FROM attempts WHERE attempt_id = $1', [attemptId]);
  if (held) return;
  await closeOpenAttempts(client, { filingId, submission, reason: `attempt ${attemptId} had been sent`, at });
  await client.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, state, sender, sending_at, reason, late)
     VALUES ($1, $2, $3, $4, 'sending', NULL, $5, $6, EXISTS (SELECT FROM attempts WHERE filing_id = $2
       AND submission = $3 AND state <> 'not_sent' AND NOT late))`,
    [attemptId, filingId, submission, attempt, sentAt, SENT_BEFORE],
  );
  await holdAsSent(client, { filingId, submission, sentAt: sentAt ?? at, at });
  await client.query(
    `UPDATE filing_rows SET state = 'unknown' WHERE filing_id = $1 AND submission = $2 AND state = 'submitted'
        AND NOT EXISTS (SELECT FROM submissions WHERE filing_id = $1 AND submission = $2 AND state = 'acknowledged')`,
    [filingId, submission],
  );
}

/** The sends of a filing that the ledger knows, for its run: a later step of the run may meet a restored ledger. */
export async function knownSends(db: Queryable, filingId: string): Promise<KnownSend[]> {
  const { rows } = await db.query<Omit<KnownSend, 'sentAt'> & { sentAt: Date | null }>(
    `SELECT a.submission, a.number AS attempt, a.sending_at AS "sentAt", a.state = 'answered' AS accepted,
            CASE WHEN a.state = 'answered' THEN a.answer ->> 'requestId'
              WHEN NOT EXISTS (SELECT FROM attempts o WHERE o.filing_id = a.filing_id AND o.submission = a.submission
                AND o.state = 'answered' AND o.answer ->> 'requestId' = s.request_id) THEN s.request_id END AS "requestId",
            s.dgft_ack_id AS "dgftAckId", s.ack_status AS "ackStatus"
       FROM attempts a JOIN submissions s USING (filing_id, submission)
      WHERE a.filing_id = $1 AND a.state IN ('sending', 'answered')
      ORDER BY a.submission, (a.answer ->> 'requestId' IS NOT DISTINCT FROM s.request_id) DESC, a.number`,
    [filingId],
  );
  return rows.map((row) => ({ ...row, sentAt: row.sentAt?.getTime() ?? null }));
}
