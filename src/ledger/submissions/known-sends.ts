import { attemptIdOf } from '../../domain/filing/attempt';
import type { KnownSend, StoredAnswer, SubmissionKey } from '../../domain/filing/attempt';
import { lockFiling } from '../filings/filing-lock';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { moveRows } from '../rows/filing-rows';
import { closeOpenAttempts, IS_MAYBE_FILED } from '../gates/attempts';
import { holdInDoubt } from '../gates/held-rows';
import { holdForRequest } from '../gates/release';
import { acknowledge, storeAnswer } from './answers';
import { doubtAttempt } from './lost-time';
import { acknowledgeSubmission, addRequest, readRequests } from './requests';
import { readSubmissions } from './submissions';

/** Reason of an attempt that the ledger had lost and a run's history or the document store has. */
export const SENT_BEFORE = 'it was sent before the ledger was put back to an earlier state';

/**
 * Adds the sends of a filing that only its run's history has. The request of an unproven answer counts as one that a
 * person named. What the ledger has is kept, because a run that was reset knows less. Requires a transaction.
 */
export async function mergeKnownSends(
  client: Queryable,
  { filingId, sends, at }: { filingId: string; sends: readonly KnownSend[]; at: Date },
): Promise<void> {
  if (sends.length === 0 || (await lockFiling(client, filingId)) === null) return;
  const states = new Map((await readSubmissions(client, filingId)).map(({ submission, state }) => [submission, state]));
  // Sends with a request id first, because the others only put the same submission in doubt.
  const ordered = [...sends].sort((a, b) => Number(b.requestId !== null) - Number(a.requestId !== null));
  for (const send of ordered) {
    const { submission, attempt: number, requestId, sentBy } = send;
    const state = states.get(submission);
    if (state === undefined || state === 'settled') continue;
    const attemptId = attemptIdOf(filingId, submission, number);
    const sentAt = send.sentAt === null ? null : new Date(send.sentAt);
    const { rows: held } = await client.query<{ sender: string | null }>(
      'SELECT sender FROM attempts WHERE attempt_id = $1',
      [attemptId],
    );
    if (requestId !== null && sentBy !== null) {
      if (await mergeAnswer(client, { attemptId, answer: { ...send, kind: 'accepted' }, sentBy, sentAt, at })) continue;
      // The ledger has another sender for this attempt, so the answer is not proven to be its own.
      if (held[0]?.sender) continue;
    }
    const since = sentAt ?? at;
    // An attempt that the ledger holds as open was marked in the lost state; in a whole ledger it was never counted.
    if (!held[0]) {
      await closeOpenAttempts(client, { filingId, submission, reason: `attempt ${attemptId} had been sent`, at });
      await doubtAttempt(client, { filingId, submission, number, reason: SENT_BEFORE, at: since });
      await holdInDoubt(client, { filingId, submission, sentAt: since, at });
    }
    if (requestId !== null) await addUnprovenRequest(client, { filingId, submission, attemptId, requestId, since, at });
  }
}

/** Adds a request that, by the run's history, a person named, or that is not proven to be of our send. */
async function addUnprovenRequest(
  client: Queryable,
  request: SubmissionKey & { attemptId: string; requestId: string; since: Date; at: Date },
): Promise<void> {
  const { filingId, submission, attemptId, requestId, since, at } = request;
  // A known request may have been closed since, so what the run knew of it is ignored.
  if ((await readRequests(client, filingId, submission)).some((known) => known.requestId === requestId)) return;
  const named = { filingId, submission, requestId, source: 'named', attemptId: null, since } as const;
  if (await addRequest(client, named)) return;
  // The ledger may have freed the rows since, because it did not know of the send.
  await holdForRequest(client, { attemptId, requestId, at });
  await acknowledgeSubmission(client, filingId, submission);
  await moveRows(client, { filingId, submission, state: 'submitted' });
}

async function mergeAnswer(
  client: Queryable,
  known: { attemptId: string; answer: StoredAnswer; sentBy: string; sentAt: Date | null; at: Date },
): Promise<boolean> {
  const { attemptId, sentBy, sentAt, at } = known;
  const { kind, requestId, dgftAckId, ackStatus } = known.answer;
  const stored = await storeAnswer(client, {
    attemptId,
    answer: { kind, requestId, dgftAckId, ackStatus },
    sentBy,
    at,
  });
  if (!stored) return false;
  await client.query('UPDATE attempts SET marked_at = least(marked_at, $2) WHERE attempt_id = $1', [attemptId, sentAt]);
  await acknowledge(client, stored.filing, { attemptId, answer: stored.answer, fresh: stored.fresh, at });
  return true;
}

/** The sends of a filing that the ledger knows; its run keeps them, because a later step may meet a restored ledger. */
export async function knownSends(db: Queryable, filingId: string): Promise<KnownSend[]> {
  const { rows } = await db.query<KnownSend>(
    `SELECT a.submission, a.number AS attempt, ${MS('a.marked_at')} AS "sentAt", NULL AS "sentBy",
            q.request_id AS "requestId", q.dgft_ack_id AS "dgftAckId", q.ack_status AS "ackStatus"
       FROM attempts a LEFT JOIN LATERAL (
         SELECT * FROM requests q WHERE q.filing_id = a.filing_id AND q.submission = a.submission AND q.state <> 'not_ours'
            AND (q.attempt_id = a.attempt_id OR (q.attempt_id IS NULL AND a.verdict = 'marked'))
          ORDER BY q.attempt_id NULLS LAST, q.since LIMIT 1) AS q ON true
      WHERE a.filing_id = $1 AND ${IS_MAYBE_FILED}
      ORDER BY a.submission, q.request_id IS NULL, a.number`,
    [filingId],
  );
  return rows;
}
