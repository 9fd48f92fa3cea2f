import { attemptIdOf, type StoredAnswer } from '../../domain/filing/attempt';
import type { KnownSend } from '../../domain/filing/attempt';
import type { SubmissionState } from '../../domain/filing/states';
import { lockFiling } from '../filings/filing-lock';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { moveRows } from '../rows/filing-rows';
import { closeOpenAttempts } from '../gates/attempts';
import { holdInDoubt } from '../gates/held-rows';
import { holdForRequest } from '../gates/release';
import { acknowledge, storeAnswer } from './answers';
import { doubtAttempt } from './lost-time';
import { acknowledgeSubmission, addRequest, readRequests } from './requests';

/** Recorded for an attempt that the ledger had lost, and a run's history or the document store contains. */
export const SENT_BEFORE = 'it was sent before the ledger was put back to an earlier state';

/**
 * Adds to the ledger the sends of a filing that only its run's history contains: the answer to an attempt and the
 * request id under which its submission is polled, or only that it was sent. An answer that nobody can prove counts as
 * what a person named. Whatever the ledger already has, or knows in more detail, is kept, because a run that was reset
 * knows less. Must run in a transaction.
 */
export async function mergeKnownSends(
  client: Queryable,
  { filingId, sends, at }: { filingId: string; sends: readonly KnownSend[]; at: Date },
): Promise<void> {
  if (sends.length === 0 || (await lockFiling(client, filingId)) === null) return;
  // Those with a request id first: the others are doubt about the same submission.
  const known = [...sends].sort((a, b) => Number(b.requestId !== null) - Number(a.requestId !== null));
  for (const send of known) {
    const state = await submissionState(client, filingId, send.submission);
    if (state === null || state === 'settled') continue;
    const attemptId = attemptIdOf(filingId, send.submission, send.attempt);
    const { requestId, sentBy } = send;
    if (requestId !== null && sentBy !== null) {
      if (await mergeAnswer(client, { attemptId, send, requestId, sentBy, at })) continue;
      // Whoever sent it, it was not who says so.
      if (await hasSender(client, attemptId)) continue;
    }
    await mergeUnknownOutcome(client, { filingId, attemptId, send, at });
    if (requestId !== null) await handIn(client, { filingId, attemptId, send, requestId, at });
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

/** A request that a person had named, by the run's history; or one of which nobody can prove that we sent it. */
async function handIn(
  client: Queryable,
  { filingId, attemptId, send, requestId, at }: KnownSendArgs & { requestId: string },
): Promise<void> {
  const since = send.sentAt === null ? at : new Date(send.sentAt);
  const { submission } = send;
  // Closed since, perhaps: nothing is concluded from what the run knew of it.
  if ((await readRequests(client, filingId, submission)).some((each) => each.requestId === requestId)) return;
  const holder = await addRequest(client, { filingId, submission, requestId, source: 'named', attemptId: null, since });
  if (holder.filingId !== filingId || holder.submission !== submission) return;
  // The ledger may have freed its rows since, without knowing of the send.
  await holdForRequest(client, { attemptId, requestId, at });
  await acknowledgeSubmission(client, filingId, submission);
  await moveRows(client, { filingId, submission, state: 'submitted' });
}

interface KnownSendArgs {
  filingId: string;
  attemptId: string;
  send: KnownSend;
  at: Date;
}

async function mergeAnswer(
  client: Queryable,
  { attemptId, send, requestId, sentBy, at }: Omit<KnownSendArgs, 'filingId'> & { requestId: string; sentBy: string },
): Promise<boolean> {
  const { sentAt, dgftAckId, ackStatus } = send;
  const answer: StoredAnswer = { kind: 'accepted', requestId, dgftAckId, ackStatus };
  const stored = await storeAnswer(client, { attemptId, answer, sentBy, at });
  if (!stored) return false;
  await client.query('UPDATE attempts SET marked_at = least(marked_at, $2) WHERE attempt_id = $1', [
    attemptId,
    sentAt === null ? null : new Date(sentAt),
  ]);
  await acknowledge(client, stored.filing, { attemptId, answer: stored.answer, fresh: stored.fresh, at });
  return true;
}

async function hasSender(client: Queryable, attemptId: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM attempts WHERE attempt_id = $1 AND sender IS NOT NULL', [
    attemptId,
  ]);
  return rowCount === 1;
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
  await doubtAttempt(client, { filingId, submission, number: attempt, reason: SENT_BEFORE, at: sentAt ?? at });
  await holdInDoubt(client, { filingId, submission, sentAt: sentAt ?? at, at });
}

/** The sends of a filing that the ledger knows, for its run: a later step of the run may meet a restored ledger. */
export async function knownSends(db: Queryable, filingId: string): Promise<KnownSend[]> {
  const { rows } = await db.query<KnownSend>(
    `SELECT a.submission, a.number AS attempt, ${MS('a.marked_at')} AS "sentAt", NULL AS "sentBy",
            q.request_id AS "requestId", q.dgft_ack_id AS "dgftAckId", q.ack_status AS "ackStatus"
       FROM attempts a LEFT JOIN LATERAL (
         SELECT * FROM requests q WHERE q.filing_id = a.filing_id AND q.submission = a.submission AND q.state <> 'not_ours'
            AND (q.attempt_id = a.attempt_id OR (q.attempt_id IS NULL AND a.verdict = 'marked'))
          ORDER BY q.attempt_id NULLS LAST, q.since LIMIT 1) AS q ON true
      WHERE a.filing_id = $1 AND a.verdict IN ('marked', 'accepted')
      ORDER BY a.submission, q.request_id IS NULL, a.number`,
    [filingId],
  );
  return rows;
}
