import type { Queryable } from './pool';

/** What the service said to a submission, or the refusal in its place; without secrets, with every list it gave. */
export interface StoredAnswer {
  /** `accepted` for a 2xx that parses; otherwise the kind of the error. */
  kind: string;
  status?: number;
  requestId?: string | null;
  dgftAckId?: string | null;
  ackStatus?: string | null;
  recordResCount?: number | null;
  errorDetails?: unknown[];
  parsedRowCount?: number | null;
  irms?: unknown[];
  warnings?: unknown[];
  message?: string;
  errorCode?: string;
  fieldErrors?: { row?: number; field?: string; message: string }[];
}

export interface AttemptReading {
  /**
   * `sending` alone may still be on its way. `unknown`: the ledger cannot vouch for what happened, because it is not
   * the one the attempt was opened in, or the exchange is over without an answer.
   */
  verdict: 'not_sent' | 'answered' | 'sending' | 'unknown';
  reason: string | null;
  answer: StoredAnswer | null;
}

/** This ledger's identity: another value than before means that it was restored or failed over. */
export async function ledgerEpoch(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ epoch: string }>('SELECT ledger_epoch() AS epoch');
  return rows[0]?.epoch ?? '';
}

/** The id of a filing's attempt; it comes from business keys, so that a retried activity opens the same one. */
export function attemptIdOf(filingId: string, submission: number, number: number): string {
  return `${filingId}-${submission}-${number}`;
}

/** Opens an attempt, once. */
export async function openAttempt(
  db: Queryable,
  { filingId, submission, number }: { filingId: string; submission: number; number: number },
): Promise<{ attemptId: string; epoch: string }> {
  const attemptId = attemptIdOf(filingId, submission, number);
  await db.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, state, epoch)
     VALUES ($1, $2, $3, $4, 'open', ledger_epoch()) ON CONFLICT (attempt_id) DO NOTHING`,
    [attemptId, filingId, submission, number],
  );
  const { rows } = await db.query<{ epoch: string }>('SELECT epoch FROM attempts WHERE attempt_id = $1', [attemptId]);
  return { attemptId, epoch: rows[0]?.epoch ?? '' };
}

/**
 * The fence: marks an open attempt as being sent, and its rows as submitted. False when the attempt is not open any
 * more, or the ledger is not the one it was opened in: then nothing may be written to the service. Must run in a
 * transaction; the commit is waited for even where the database's default is not to.
 */
export async function markSending(
  client: Queryable,
  { attemptId, epoch, payloadHash, at }: { attemptId: string; epoch: string; payloadHash: string; at: Date },
): Promise<boolean> {
  await client.query('SET LOCAL synchronous_commit TO on');
  const { rows } = await client.query<{ filing_id: string; submission: number }>(
    `UPDATE attempts SET state = 'sending', sending_at = $4, payload_hash = $3
      WHERE attempt_id = $1 AND state = 'open' AND ledger_epoch() = $2 RETURNING filing_id, submission`,
    [attemptId, epoch, payloadHash, at],
  );
  const marked = rows[0];
  if (!marked) return false;
  await client.query(`UPDATE filing_rows SET submitted_at = $3 WHERE filing_id = $1 AND submission = $2 AND live`, [
    marked.filing_id,
    marked.submission,
    at,
  ]);
  return true;
}

/** Stores an answer, whatever the attempt's state: an answer that comes late still ends every doubt. */
export async function storeAnswer(db: Queryable, attemptId: string, answer: StoredAnswer, at: Date): Promise<void> {
  await db.query(
    `UPDATE attempts SET state = 'answered', answer = $2, answer_status = $3, answered_at = $4, reason = NULL
      WHERE attempt_id = $1 AND state <> 'answered'`,
    [attemptId, JSON.stringify(answer), answer.status ?? null, at],
  );
}

/**
 * Closes an attempt of which nothing was written or nothing was accepted, on the word of the activity that made it; a
 * stored answer stays.
 */
export async function closeNotSent(
  db: Queryable,
  { attemptId, reason, answer, at }: { attemptId: string; reason: string; answer?: StoredAnswer; at: Date },
): Promise<void> {
  const { rows } = await db.query<{ filing_id: string; submission: number }>(
    `UPDATE attempts SET state = 'not_sent', reason = $2, answer = coalesce($3, answer), answer_status = $4, closed_at = $5
      WHERE attempt_id = $1 AND state IN ('open', 'sending') RETURNING filing_id, submission`,
    [attemptId, reason, answer ? JSON.stringify(answer) : null, answer?.status ?? null, at],
  );
  const closed = rows[0];
  if (!closed) return;
  // The rows were marked as submitted together with the attempt; nothing of them is at the service.
  await db.query(
    'UPDATE filing_rows SET submitted_at = NULL WHERE filing_id = $1 AND submission = $2 AND settled_at IS NULL',
    [closed.filing_id, closed.submission],
  );
}

/** Notes that the exchange of an attempt is over and its outcome unknown: no answer can come any more. */
export async function noteUnknown(db: Queryable, attemptId: string, reason: string, at: Date): Promise<void> {
  await db.query(`UPDATE attempts SET reason = $2, closed_at = $3 WHERE attempt_id = $1 AND state = 'sending'`, [
    attemptId,
    reason,
    at,
  ]);
}

/**
 * Reads what became of an attempt, closing it first where it was never marked: from then on a worker that was given up
 * on and wakes late finds the fence closed.
 */
export async function readAttempt(
  db: Queryable,
  { attemptId, epoch, at }: { attemptId: string; epoch: string; at: Date },
): Promise<AttemptReading> {
  const now = await ledgerEpoch(db);
  if (now !== epoch) {
    const late = await answerOf(db, attemptId);
    if (late) return late;
    return {
      verdict: 'unknown',
      reason: 'the ledger was restored or failed over since the attempt was opened',
      answer: null,
    };
  }
  await db.query(
    `UPDATE attempts SET state = 'not_sent', reason = 'closed before anything was written', closed_at = $2
      WHERE attempt_id = $1 AND state = 'open'`,
    [attemptId, at],
  );
  return (await answerOf(db, attemptId)) ?? reading(db, attemptId);
}

async function answerOf(db: Queryable, attemptId: string): Promise<AttemptReading | null> {
  const { rows } = await db.query<{ answer: StoredAnswer }>(
    `SELECT answer FROM attempts WHERE attempt_id = $1 AND state = 'answered' AND answer IS NOT NULL`,
    [attemptId],
  );
  return rows[0] ? { verdict: 'answered', reason: null, answer: rows[0].answer } : null;
}

async function reading(db: Queryable, attemptId: string): Promise<AttemptReading> {
  const { rows } = await db.query<{ state: string; reason: string | null; answer: StoredAnswer | null }>(
    'SELECT state, reason, answer FROM attempts WHERE attempt_id = $1',
    [attemptId],
  );
  const found = rows[0];
  if (!found) return { verdict: 'unknown', reason: 'the ledger does not hold the attempt', answer: null };
  if (found.state === 'not_sent') return { verdict: 'not_sent', reason: found.reason, answer: found.answer };
  return { verdict: found.reason === null ? 'sending' : 'unknown', reason: found.reason, answer: null };
}

/** The newest attempt of a submission, for a run that takes a filing up again. */
export async function latestAttempt(
  db: Queryable,
  filingId: string,
  submission: number,
): Promise<{ attemptId: string; epoch: string; number: number; state: string } | null> {
  const { rows } = await db.query<{ attemptId: string; epoch: string; number: number; state: string }>(
    `SELECT attempt_id AS "attemptId", epoch, number, state FROM attempts WHERE filing_id = $1 AND submission = $2
      ORDER BY number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0] ?? null;
}
