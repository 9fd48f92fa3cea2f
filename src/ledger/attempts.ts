import type { AttemptReading, StoredAnswer } from '../domain/attempt';
import type { Queryable } from './pool';

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
 * The fence: marks an open attempt as being sent by `sender`, and its rows as submitted. False when the attempt is not
 * open any more, or the ledger is not the one it was opened in: then nothing may be written to the service. Must run in
 * a transaction; the commit is waited for even where the database's default is not to.
 */
export async function markSending(
  client: Queryable,
  {
    attemptId,
    epoch,
    sender,
    payloadHash,
    at,
  }: { attemptId: string; epoch: string; sender: string; payloadHash: string; at: Date },
): Promise<boolean> {
  await client.query('SET LOCAL synchronous_commit TO on');
  const { rows } = await client.query<{ filing_id: string; submission: number }>(
    `UPDATE attempts SET state = 'sending', sending_at = $5, payload_hash = $4, sender = $3
      WHERE attempt_id = $1 AND state = 'open' AND ledger_epoch() = $2 RETURNING filing_id, submission`,
    [attemptId, epoch, sender, payloadHash, at],
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
 * Closes an attempt of which nothing was written or nothing was accepted, on the word of the execution that made it. A
 * mark that another execution set (after a workflow was reset, say) is not its to judge, and a stored answer stays.
 */
export async function closeNotSent(
  db: Queryable,
  {
    attemptId,
    sender,
    reason,
    answer,
    at,
  }: { attemptId: string; sender: string; reason: string; answer?: StoredAnswer; at: Date },
): Promise<void> {
  const { rows } = await db.query<{ filing_id: string; submission: number }>(
    `UPDATE attempts SET state = 'not_sent', reason = $3, answer = coalesce($4, answer), answer_status = $5, closed_at = $6
      WHERE attempt_id = $1 AND (state = 'open' OR (state = 'sending' AND sender = $2)) RETURNING filing_id, submission`,
    [attemptId, sender, reason, answer ? JSON.stringify(answer) : null, answer?.status ?? null, at],
  );
  if (rows[0]) await unsubmit(db, rows[0]);
}

/** The rows were marked as submitted together with their attempt; nothing of them is at the service. */
async function unsubmit(db: Queryable, closed: { filing_id: string; submission: number }): Promise<void> {
  await db.query(
    'UPDATE filing_rows SET submitted_at = NULL WHERE filing_id = $1 AND submission = $2 AND settled_at IS NULL',
    [closed.filing_id, closed.submission],
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
 * Reads what became of an attempt, closing it first where it was never marked: from then on a worker that was given up
 * on and wakes late finds the fence closed. `refusal`: the kind of a documented refusal that the execution returned; it
 * was written and refused, so its mark is closed too, in case the execution could not do it.
 */
export async function readAttempt(
  db: Queryable,
  { attemptId, epoch, refusal, at }: { attemptId: string; epoch: string; refusal?: string; at: Date },
): Promise<AttemptReading> {
  const sameLedger = (await ledgerEpoch(db)) === epoch;
  const late = await answerOf(db, attemptId);
  if (late) return late;
  if (!sameLedger && refusal === undefined) {
    const reason = 'the ledger was restored or failed over since the attempt was opened';
    return { verdict: 'unknown', reason, answer: null };
  }
  const { rows } = await db.query<{ filing_id: string; submission: number }>(
    `UPDATE attempts SET state = 'not_sent', reason = coalesce($2::text, 'closed before anything was written'), closed_at = $3
      WHERE attempt_id = $1 AND (state = 'open' OR (state = 'sending' AND $2::text IS NOT NULL)) RETURNING filing_id, submission`,
    [attemptId, refusal ?? null, at],
  );
  if (rows[0]) await unsubmit(db, rows[0]);
  return (await answerOf(db, attemptId)) ?? reading(db, attemptId);
}

/**
 * A person has looked and says that nothing was filed: the attempt is closed. @returns false when an answer with a
 * request id exists, because then the service has spoken. An attempt that a restored ledger lost has none: the person is
 * believed, and a worker that still holds it finds no attempt to mark.
 */
export async function closeByPerson(
  db: Queryable,
  { attemptId, reason, at }: { attemptId: string; reason: string; at: Date },
): Promise<boolean> {
  const { rows } = await db.query<{ filing_id: string; submission: number }>(
    `UPDATE attempts SET state = 'not_sent', reason = $2, closed_at = $3
      WHERE attempt_id = $1 AND (state <> 'answered' OR answer->>'requestId' IS NULL) RETURNING filing_id, submission`,
    [attemptId, reason, at],
  );
  if (rows[0]) await unsubmit(db, rows[0]);
  return rows.length > 0 || (await answerOf(db, attemptId)) === null;
}

/** Whether the service has answered an attempt with a request id; the attempt stays as it is until the transaction ends. */
export async function hasRequestId(client: Queryable, attemptId: string): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>(
    `SELECT state = 'answered' AND answer->>'requestId' IS NOT NULL AS has FROM attempts WHERE attempt_id = $1 FOR UPDATE`,
    [attemptId],
  );
  return rows[0]?.has === true;
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

/** When an attempt was marked as being sent, or null. */
export async function sendingAt(db: Queryable, attemptId: string): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>('SELECT sending_at AS at FROM attempts WHERE attempt_id = $1', [
    attemptId,
  ]);
  return rows[0]?.at ?? null;
}
