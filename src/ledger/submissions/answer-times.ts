/** Input of the poll cadence: when recent requests were answered, and the ages of open ones. */
import { ANSWERS_USED, OPEN_USED, type SeenAnswer } from '../../domain/filing/acknowledgement-times';
import type { Queryable } from '../pool';

/** Records when a request was answered, once. */
export async function recordSeenAnswer(
  db: Queryable,
  {
    filingId,
    submission,
    mode,
    answer: { afterMs, byMs },
    at,
  }: { filingId: string; submission: number; mode: string; answer: SeenAnswer; at: Date },
): Promise<void> {
  // A submission that is settled under another request id was sent at another time: the previous poll may be earlier
  // than the send.
  await db.query(
    `INSERT INTO acknowledgement_times (filing_id, submission, mode, after_ms, took_ms, at)
     VALUES ($1, $2, $3, least($4::bigint, $5::bigint), $5, $6) ON CONFLICT (filing_id, submission) DO NOTHING`,
    [filingId, submission, mode, Math.max(0, Math.round(afterMs)), Math.max(0, Math.round(byMs)), at],
  );
}

/** The newest answers of a mode, as many as the cadence uses, newest first. */
export async function readSeenAnswers(db: Queryable, mode: string): Promise<SeenAnswer[]> {
  const { rows } = await db.query<SeenAnswer>(
    `SELECT after_ms::float8 AS "afterMs", took_ms::float8 AS "byMs" FROM acknowledgement_times
      WHERE mode = $1 ORDER BY at DESC, filing_id, submission LIMIT $2`,
    [mode, ANSWERS_USED],
  );
  return rows;
}

/**
 * Requests of a mode that are being polled: their number, and the ages in ms of the youngest, as many as the cadence
 * uses. Requests that the authority never answers must not outnumber those of today.
 */
export async function readOpenRequests(
  db: Queryable,
  mode: string,
  at: Date,
): Promise<{ count: number; agesMs: number[] }> {
  const { rows } = await db.query<{ count: number; ageMs: number }>(
    `SELECT count(*) OVER ()::int AS count,
            greatest(0, extract(epoch FROM $2::timestamptz - since) * 1000)::float8 AS "ageMs"
       FROM requests WHERE mode = $1 AND state = 'followed' ORDER BY since DESC LIMIT $3`,
    [mode, at, OPEN_USED],
  );
  return { count: rows[0]?.count ?? 0, agesMs: rows.map(({ ageMs }) => ageMs) };
}
