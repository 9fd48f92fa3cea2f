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

/** Recorded for an attempt that the ledger had lost, and a run's history or the document store contains. */
export const SENT_BEFORE = 'it was sent before the ledger was put back to an earlier state';

/**
 * Adds the sends of a filing that only its run's history contains. An answer that nobody can prove counts as what a
 * person named. What the ledger has is kept: a run that was reset knows less. In a transaction.
 */
export async function mergeKnownSends(
  client: Queryable,
  { filingId, sends, at }: { filingId: string; sends: readonly KnownSend[]; at: Date },
): Promise<void> {
  if (sends.length === 0 || (await lockFiling(client, filingId)) === null) return;
  const states = new Map((await readSubmissions(client, filingId)).map(({ submission, state }) => [submission, state]));
  // Those with a request id first: the others are doubt about the same submission.
  const known = [...sends].sort((a, b) => Number(b.requestId !== null) - Number(a.requestId !== null));
  for (const send of known) {
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
      // Whoever sent it, it was not who says so.
      if (held[0]?.sender) continue;
    }
    const since = sentAt ?? at;
    // One that the ledger holds as open was marked in the lost state; if the ledger is complete, that mark was never
    // counted.
    if (!held[0]) {
      await closeOpenAttempts(client, { filingId, submission, reason: `attempt ${attemptId} had been sent`, at });
      await doubtAttempt(client, { filingId, submission, number, reason: SENT_BEFORE, at: since });
      await holdInDoubt(client, { filingId, submission, sentAt: since, at });
    }
    if (requestId !== null) await handIn(client, { filingId, submission, attemptId, requestId, since, at });
  }
}

/** A request that a person had named, by the run's history; or one of which nobody can prove that we sent it. */
async function handIn(
  client: Queryable,
  request: SubmissionKey & { attemptId: string; requestId: string; since: Date; at: Date },
): Promise<void> {
  const { filingId, submission, attemptId, requestId, since, at } = request;
  // Closed since, perhaps: nothing is concluded from what the run knew of it.
  if ((await readRequests(client, filingId, submission)).some((each) => each.requestId === requestId)) return;
  const named = { filingId, submission, requestId, source: 'named', attemptId: null, since } as const;
  if (await addRequest(client, named)) return;
  // The ledger may have freed its rows since, without knowing of the send.
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

/** The sends of a filing that the ledger knows, for its run: a later step of the run may meet a restored ledger. */
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
