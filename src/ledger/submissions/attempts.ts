import {
  attemptIdOf,
  partsOfAttemptId,
  type AttemptReading,
  type AttemptState,
  type StoredAnswer,
} from '../../domain/filing/attempt';
import type { FilingState } from '../../domain/filing/states';
import { lockFiling } from '../filings/filing-lock';
import { FilingMissing } from '../filings/filing-missing';
import { holderBeside } from '../rows/live-mappings';
import type { Queryable } from '../pool';
import { certifiedInLostTime, doubtAttempt, doubtRows } from './lost-time';
import type { SubmissionState } from '../../domain/filing/states';

/** Where a submission stands when a run wants to send it. */
export type OpenedAttempt =
  /** The attempt to send with, or, where its state is not `open`, the one that has been sent already. */
  | { outcome: 'attempt'; attemptId: string; number: number; state: AttemptState }
  /** The submission is past sending: acknowledged, settled or given back. */
  | { outcome: 'passed'; state: SubmissionState }
  /**
   * Nothing of the exporter is sent before its certificates were read after `until`, from `from` on; ms since the
   * epoch.
   */
  | { outcome: 'wait'; until: number; from: number }
  /** Rows of it are not to be sent any more; why stands with them. */
  | { outcome: 'rows_gone'; reason: string }
  /** The filing has ended. */
  | { outcome: 'ended'; state: FilingState };

/**
 * Opens a submission's next attempt, or answers the one that stands: open, sending or answered. A repeated step finds
 * the attempt that the first one opened. Must run in a transaction.
 */
export async function openAttempt(
  client: Queryable,
  { filingId, submission }: { filingId: string; submission: number },
): Promise<OpenedAttempt> {
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  if (filing.ended) return { outcome: 'ended', state: filing.state };
  const { state, requestId } = await submissionState(client, filingId, submission);
  // An acknowledgement without a request id to ask about is settled as a lost answer is.
  if (state !== 'planned' && (state !== 'acknowledged' || requestId !== null)) return { outcome: 'passed', state };
  const standing = await standingAttempt(client, filingId, submission);
  if (standing) {
    if (standing.state === 'open') await noteSnapshot(client, standing.attemptId);
    return { outcome: 'attempt', ...standing };
  }
  const gone = await rowsGone(client, filingId, submission);
  if (gone !== null) return { outcome: 'rows_gone', reason: gone };
  const wait = await certificatesToRead(client, filing.exporterId);
  if (wait) return { outcome: 'wait', until: wait.until.getTime(), from: wait.from.getTime() };
  const last = await latestAttempt(client, filingId, submission);
  const number = (last?.number ?? 0) + 1;
  // Only before the first attempt: a person may have said since that it was not filed.
  const since = last === null ? await certifiedInLostTime(client, { filingId, submission }) : null;
  if (since !== null) {
    const doubted = { filingId, submission, number, at: since };
    await doubtRows(client, { ...doubted, submissions: [submission] });
    return { outcome: 'attempt', attemptId: await doubtAttempt(client, doubted), number, state: 'sending' };
  }
  const attemptId = attemptIdOf(filingId, submission, number);
  await client.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, state) VALUES ($1, $2, $3, $4, 'open')`,
    [attemptId, filingId, submission, number],
  );
  await noteSnapshot(client, attemptId);
  return { outcome: 'attempt', attemptId, number, state: 'open' };
}

/**
 * The newest snapshot of the submission is the one from before this attempt, unless another attempt had it: then none
 * was taken. By the order in which they were written, and by no worker's clock.
 */
async function noteSnapshot(client: Queryable, attemptId: string): Promise<void> {
  await client.query(
    `UPDATE attempts a SET snapshot_id = s.id
       FROM (SELECT max(n.snapshot_id) AS id FROM snapshots n JOIN attempts o USING (filing_id, submission) WHERE o.attempt_id = $1) AS s
      WHERE a.attempt_id = $1 AND s.id IS NOT NULL AND NOT EXISTS (SELECT FROM attempts t WHERE t.filing_id = a.filing_id
        AND t.submission = a.submission AND t.attempt_id <> $1 AND t.snapshot_id >= s.id)`,
    [attemptId],
  );
}

/**
 * What `ebrc ledger restored --documents restored` asks for before anything of a party is sent; null when it was done.
 */
async function certificatesToRead(client: Queryable, exporterId: string): Promise<{ until: Date; from: Date } | null> {
  const { rows } = await client.query<{ until: Date; from: Date }>(
    `SELECT i.certificates_after AS until, i.certificates_from AS from FROM ledger_identity i, exporters e JOIN parties p USING (party_id)
      WHERE e.exporter_id = $1 AND i.certificates_after IS NOT NULL
        AND (p.certificates_read_at IS NULL OR p.certificates_read_at < i.certificates_after)`,
    [exporterId],
  );
  return rows[0] ?? null;
}

/** Notes that an exporter's certificates were read at `at`, for what waits for it. */
export async function noteCertificatesRead(db: Queryable, exporterId: string, at: Date): Promise<void> {
  await db.query(
    `UPDATE parties p SET certificates_read_at = greatest(p.certificates_read_at, $2) FROM exporters e
      WHERE e.party_id = p.party_id AND e.exporter_id = $1`,
    [exporterId, at],
  );
}

async function rowsGone(client: Queryable, filingId: string, submission: number): Promise<string | null> {
  const { rows } = await client.query<{ gone: number; why: string | null }>(
    `SELECT count(*)::int AS gone, min(errors ->> 0) AS why FROM filing_rows
      WHERE filing_id = $1 AND submission = $2 AND NOT (live AND state = 'planned')`,
    [filingId, submission],
  );
  const { gone = 0, why = null } = rows[0] ?? {};
  if (gone > 0) return why ?? `${gone} rows of the submission are not to be sent any more`;
  const holder = await holderBeside(client, filingId, submission);
  return (
    holder &&
    `Filing ${holder} holds a mapping of it too, which was found after both were recorded: see to that one first.`
  );
}

/** The attempt of a submission that may be sent, is on its way, or was accepted; null where none is. */
async function standingAttempt(
  client: Queryable,
  filingId: string,
  submission: number,
): Promise<{ attemptId: string; number: number; state: AttemptState } | null> {
  const { rows } = await client.query<{ attemptId: string; number: number; state: AttemptState }>(
    `SELECT attempt_id AS "attemptId", number, state FROM attempts
      WHERE filing_id = $1 AND submission = $2 AND state <> 'not_sent'
      ORDER BY (state = 'answered') DESC, number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0] ?? null;
}

async function submissionState(
  client: Queryable,
  filingId: string,
  submission: number,
): Promise<{ state: SubmissionState; requestId: string | null }> {
  const { rows } = await client.query<{ state: SubmissionState; requestId: string | null }>(
    'SELECT state, request_id AS "requestId" FROM submissions WHERE filing_id = $1 AND submission = $2',
    [filingId, submission],
  );
  if (!rows[0]) throw new FilingMissing(filingId, `Submission ${submission} of filing ${filingId}`);
  return rows[0];
}

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
