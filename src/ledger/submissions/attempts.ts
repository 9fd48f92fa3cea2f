import {
  partsOfAttemptId,
  type AttemptReading,
  type AttemptState,
  type StoredAnswer,
} from '../../domain/filing/attempt';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';

/** Closes what is open of a filing: its rows are being freed, so nothing of it may be sent any more. */
export async function closeOpenAttempts(
  client: Queryable,
  { filingId, submission, reason, at }: { filingId: string; submission?: number; reason: string; at: Date },
): Promise<void> {
  await client.query(
    `UPDATE attempts SET state = 'not_sent', reason = $3, closed_at = $4
      WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2) AND state = 'open'`,
    [filingId, submission ?? null, reason, at],
  );
}

/**
 * Closes an attempt of which nothing was written or nothing was accepted, on the word of the execution that made it. A
 * mark that another execution set (after a workflow was reset, say) is not its to judge, nor an attempt that another
 * one may have sent as well; a stored answer stays.
 */
export async function closeNotSent(
  client: Queryable,
  {
    attemptId,
    sender,
    reason,
    answer,
    at,
  }: { attemptId: string; sender: string; reason: string; answer?: StoredAnswer; at: Date },
): Promise<void> {
  await lockFiling(client, partsOfAttemptId(attemptId).filingId);
  const { rowCount } = await client.query(
    `UPDATE attempts SET state = 'not_sent', reason = $3, answer = coalesce($4, answer), answer_status = $5, closed_at = $6
      WHERE attempt_id = $1 AND (state = 'open' OR (state = 'sending' AND sender = $2
        AND NOT EXISTS (SELECT FROM sends WHERE attempt_id = $1 AND sender <> $2)))`,
    [attemptId, sender, reason, answer ? JSON.stringify(answer) : null, answer?.status ?? null, at],
  );
  if (rowCount) await planAgain(client, attemptId);
}

/**
 * Gives the rows of a closed attempt back to the next one: nothing of them is at the service. Where another attempt of
 * the submission is on its way or was accepted, or the rows have gone elsewhere meanwhile, they stay as they are.
 */
export async function planAgain(client: Queryable, attemptId: string): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const noOther = `NOT EXISTS (SELECT FROM attempts a WHERE a.filing_id = $1 AND a.submission = $2 AND a.state IN ('sending', 'answered'))`;
  await client.query(
    `UPDATE filing_rows SET state = 'planned', submitted_at = NULL
      WHERE filing_id = $1 AND submission = $2 AND live AND state IN ('planned', 'submitted', 'unknown') AND ${noOther}`,
    [filingId, submission],
  );
  await client.query(
    `UPDATE submissions SET state = 'planned', dgft_ack_id = NULL, ack_status = NULL, submitted_at = NULL, warnings = '[]'
      WHERE filing_id = $1 AND submission = $2 AND state = 'acknowledged' AND request_id IS NULL AND ${noOther}`,
    [filingId, submission],
  );
}

/** Notes that the exchange of an attempt is over and its outcome unknown: no answer can come any more. */
export async function noteUnknown(
  db: Queryable,
  { attemptId, sender, reason, at }: { attemptId: string; sender: string; reason: string; at: Date },
): Promise<void> {
  await db.query(
    `UPDATE attempts SET reason = $3, closed_at = $4 WHERE attempt_id = $1 AND state = 'sending' AND sender = $2`,
    [attemptId, sender, reason, at],
  );
}

/**
 * Shows the rows of an attempt of unknown outcome as such. An attempt that was closed as not sent, or that is not sent
 * yet, leaves them alone. Must run in a transaction.
 */
export async function markRowsUnknown(client: Queryable, attemptId: string): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (filing?.ended) return;
  await client.query(
    `UPDATE filing_rows SET state = 'unknown'
      WHERE filing_id = $1 AND submission = $2 AND live AND state IN ('planned', 'submitted')
        AND NOT EXISTS (SELECT FROM attempts WHERE attempt_id = $3 AND state IN ('open', 'not_sent'))`,
    [filingId, submission, attemptId],
  );
}

/**
 * Reads what became of an attempt, closing it first where it was never marked: from then on a worker that was given up
 * on and wakes late finds the fence closed. `refusal`: the kind of a documented refusal that the execution returned; it
 * was written and refused, so its mark is closed too, in case the execution could not do it. `unsent` proves of a mark
 * that nothing was or will be written under it, where that can be proven. Must run in a transaction.
 */
export async function readAttempt(
  client: Queryable,
  {
    attemptId,
    refusal,
    at,
    unsent = () => Promise.resolve(false),
  }: { attemptId: string; refusal?: string; at: Date; unsent?: () => Promise<boolean> },
): Promise<AttemptReading> {
  const { filingId } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  const { rowCount } = await client.query(
    `UPDATE attempts SET state = 'not_sent', reason = coalesce($2::text, 'closed before anything was written'), closed_at = $3
      WHERE attempt_id = $1 AND (state = 'open' OR (state = 'sending' AND $2::text IS NOT NULL))`,
    [attemptId, refusal ?? null, at],
  );
  if (rowCount) await planAgain(client, attemptId);
  const read = await reading(client, attemptId);
  const standing = { filingEnded: filing?.ended ?? false, filingSeq: filing?.seq ?? null };
  if (read.verdict !== 'sending' || !(await unsent())) return { ...read, ...standing };
  await client.query(
    `UPDATE attempts SET state = 'not_sent', reason = 'nothing was written: its send was never counted', closed_at = $2
      WHERE attempt_id = $1 AND state = 'sending'`,
    [attemptId, at],
  );
  await planAgain(client, attemptId);
  return { ...(await reading(client, attemptId)), ...standing };
}

async function reading(
  client: Queryable,
  attemptId: string,
): Promise<Omit<AttemptReading, 'filingEnded' | 'filingSeq'>> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const { rows } = await client.query<{
    attemptId: string;
    state: AttemptState;
    reason: string | null;
    answer: StoredAnswer | null;
    markedAt: Date | null;
  }>(
    `SELECT attempt_id AS "attemptId", state, reason, answer, sending_at AS "markedAt" FROM attempts
      WHERE filing_id = $1 AND submission = $2 AND (attempt_id = $3 OR state = 'answered')
      ORDER BY (attempt_id = $3) DESC, number`,
    [filingId, submission, attemptId],
  );
  const own = rows.find((row) => row.attemptId === attemptId);
  const markedAt = own?.markedAt?.getTime() ?? null;
  const held = own !== undefined;
  // What the service said of this submission, on whichever attempt, is better than what is not known of this one.
  const answered = rows.find((row) => row.state === 'answered' && row.answer !== null);
  if (answered) {
    const { answer } = answered;
    return { verdict: 'answered', reason: null, answer, attemptId: answered.attemptId, markedAt, held };
  }
  if (!own) {
    return {
      verdict: 'unknown',
      reason: 'the ledger does not hold the attempt',
      answer: null,
      attemptId,
      markedAt,
      held,
    };
  }
  if (own.state === 'not_sent') {
    return { verdict: 'not_sent', reason: own.reason, answer: own.answer, attemptId, markedAt, held };
  }
  const verdict = own.reason === null ? 'sending' : 'unknown';
  return { verdict, reason: own.reason, answer: null, attemptId, markedAt, held };
}

/** The newest attempt of a submission, for a run that takes a filing up again. */
export async function latestAttempt(
  db: Queryable,
  filingId: string,
  submission: number,
): Promise<{ attemptId: string; number: number; state: AttemptState } | null> {
  const { rows } = await db.query<{ attemptId: string; number: number; state: AttemptState }>(
    `SELECT attempt_id AS "attemptId", number, state FROM attempts WHERE filing_id = $1 AND submission = $2
      ORDER BY number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0] ?? null;
}

/** When an attempt was marked as being sent, or null. */
export async function sendingAt(db: Queryable, attemptId: string): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>('SELECT sending_at AS at FROM attempts WHERE attempt_id = $1', [
    attemptId,
  ]);
  return rows[0]?.at ?? null;
}
