import {
  partsOfAttemptId,
  type AttemptReading,
  type AttemptState,
  type StoredAnswer,
} from '../../domain/filing/attempt';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';

/** Closes the open attempts of a filing: its rows are being freed, so nothing of it may be sent any more. */
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
 * Closes an attempt for which the execution that made it reports that nothing was written or accepted. It cannot judge
 * a mark that another execution set (for example after a workflow was reset), nor an attempt that another execution may
 * have sent as well; a stored answer is kept.
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
 * Returns the rows of a closed attempt to `planned`, for the next attempt: nothing of them is at the service. If
 * another attempt of the submission is sending or was accepted, or the rows have another state by now, they are left
 * unchanged.
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

/** Records that the exchange of an attempt is over with an unknown outcome: no answer can follow. */
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
 * Sets the rows of an attempt of unknown outcome to that state, unless the attempt was closed as not sent or has not
 * been sent yet. Must run in a transaction.
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
 * Reads the state of an attempt. An attempt that was never marked is closed first, so that a worker that was given up
 * on and wakes late finds the fence closed. `refusal`: the kind of a documented refusal that the execution returned;
 * the attempt was written and refused, so its mark is closed too, in case the execution could not do it. `unsent`
 * proves, where possible, that nothing was or will be written under a mark. Must run in a transaction.
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
  // An answer of the service about this submission, to any of its attempts, is worth more than an unknown outcome of
  // this one.
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

/** The newest attempt of a submission, for a run that resumes a filing. */
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
