/** Reading attempts; their verdicts are written by the gates. */
import {
  partsOfAttemptId,
  type AttemptReading,
  type AttemptVerdict,
  type StoredAnswer,
} from '../../domain/filing/attempt';
import type { LockedFiling } from '../filings/filing-lock';
import { judgeRefused, judgeUnsent } from '../gates/release';
import type { Queryable } from '../pool';

/** Records that the exchange of an attempt is over with an unknown outcome: no answer can follow. */
export async function noteUnknown(
  db: Queryable,
  { attemptId, sender, reason }: { attemptId: string; sender: string; reason: string },
): Promise<void> {
  await db.query(`UPDATE attempts SET reason = $3 WHERE attempt_id = $1 AND verdict = 'marked' AND sender = $2`, [
    attemptId,
    sender,
    reason,
  ]);
}

/**
 * Sets the rows of an attempt of unknown outcome to that state, unless nothing of it is in doubt. Must run in a
 * transaction.
 */
export async function markRowsUnknown(client: Queryable, attemptId: string): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await client.query(
    `UPDATE filing_rows SET state = 'unknown'
      WHERE filing_id = $1 AND submission = $2 AND live AND state IN ('planned', 'submitted')
        AND NOT EXISTS (SELECT FROM attempts WHERE attempt_id = $3 AND verdict IN ('open', 'unsent', 'refused', 'absent'))`,
    [filingId, submission, attemptId],
  );
}

/**
 * Reads what became of an attempt. One that was never marked is judged unsent first, so that a worker that was given up
 * on and wakes late finds the fence closed. `refused`: a documented refusal that the execution returned, in case it
 * could not record it; it judges its own mark alone. Must run in a transaction that holds the filing's lock.
 */
export async function readAttempt(
  client: Queryable,
  filing: LockedFiling | null,
  { attemptId, refused, at }: { attemptId: string; refused?: { reason: string; sender: string }; at: Date },
): Promise<AttemptReading> {
  if (refused) await judgeRefused(client, { attemptId, ...refused, at });
  await judgeUnsent(client, { attemptId, proof: 'unmarked', reason: 'closed before anything was written', at });
  return { ...(await reading(client, attemptId)), filingEnded: filing?.ended ?? false };
}

async function reading(client: Queryable, attemptId: string): Promise<Omit<AttemptReading, 'filingEnded'>> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const { rows } = await client.query<{
    attemptId: string;
    verdict: AttemptVerdict;
    reason: string | null;
    answer: StoredAnswer | null;
    markedAt: Date | null;
    timeoutMs: number | null;
  }>(
    `SELECT attempt_id AS "attemptId", verdict, reason, answer, marked_at AS "markedAt", timeout_ms::float8 AS "timeoutMs"
       FROM attempts WHERE filing_id = $1 AND submission = $2 AND (attempt_id = $3 OR verdict = 'accepted')
      ORDER BY (attempt_id = $3) DESC, number`,
    [filingId, submission, attemptId],
  );
  const own = rows.find((row) => row.attemptId === attemptId);
  const marked = { markedAt: own?.markedAt?.getTime() ?? null, timeoutMs: own?.timeoutMs ?? null, underWay: false };
  // An acceptance of any attempt of the submission is worth more than an unknown outcome of this one.
  const accepted = rows.find((row) => row.verdict === 'accepted');
  if (accepted) {
    return { ...marked, verdict: 'accepted', reason: null, answer: accepted.answer, attemptId: accepted.attemptId };
  }
  if (!own)
    return { ...marked, verdict: null, reason: 'the ledger does not hold the attempt', answer: null, attemptId };
  const underWay = own.verdict === 'marked' && own.reason === null;
  return { ...marked, underWay, verdict: own.verdict, reason: own.reason, answer: own.answer, attemptId };
}

export async function markedAt(db: Queryable, attemptId: string): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>('SELECT marked_at AS at FROM attempts WHERE attempt_id = $1', [
    attemptId,
  ]);
  return rows[0]?.at ?? null;
}
