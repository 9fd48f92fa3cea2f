import type { SubmissionState } from '../../domain/filing/states';
import { moveRows } from '../rows/filing-rows';
import { FilingMissing } from '../filings/filing-missing';
import type { Queryable } from '../pool';
import type { StoredAnswer } from '../../domain/filing/attempt';

export interface SubmissionRecord {
  submission: number;
  rowCount: number;
  state: SubmissionState;
  requestId: string | null;
  dgftAckId: string | null;
  ackStatus: string | null;
  submittedAt: Date | null;
  processingStatus: string | null;
  warnings: unknown[];
  pollState: PollState;
  document: string | null;
}

/** Results of earlier polls: some rules need two polls, others a limited time. Times are ms since the epoch. */
export interface PollState {
  erroredEmptySince?: number;
  incompleteSince?: number;
  unknownRequestSeen?: number;
  /** Age of the request in ms at the last poll without an answer. */
  polledAtAgeMs?: number;
}

const COLUMNS = `submission, row_count AS "rowCount", state, request_id AS "requestId", dgft_ack_id AS "dgftAckId",
  ack_status AS "ackStatus", submitted_at AS "submittedAt", processing_status AS "processingStatus", warnings,
  poll_state AS "pollState", document`;

/** The submissions of a filing, in order. */
export async function readSubmissions(db: Queryable, filingId: string): Promise<SubmissionRecord[]> {
  const { rows } = await db.query<SubmissionRecord>(
    `SELECT ${COLUMNS} FROM submissions WHERE filing_id = $1 ORDER BY submission`,
    [filingId],
  );
  return rows;
}

/** One submission. @throws FilingMissing when the ledger does not hold it. */
export async function needSubmission(db: Queryable, filingId: string, submission: number): Promise<SubmissionRecord> {
  const { rows } = await db.query<SubmissionRecord>(
    `SELECT ${COLUMNS} FROM submissions WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission],
  );
  if (!rows[0]) throw new FilingMissing(filingId, `Submission ${submission} of filing ${filingId}`);
  return rows[0];
}

/**
 * Applies an answer to its submission, which is still to be acknowledged; repeating it changes nothing.
 * @returns whether it was applied now
 */
export async function adoptAnswer(
  db: Queryable,
  {
    filingId,
    submission,
    attemptId,
    answer,
    at,
  }: { filingId: string; submission: number; attemptId: string; answer: StoredAnswer; at: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    // Under the request id of another filing of the exporter, the outcome of that filing would be taken for this one's;
    // it is settled by evidence instead.
    `UPDATE submissions s SET state = 'acknowledged', dgft_ack_id = $4,
        request_id = CASE WHEN NOT EXISTS (SELECT FROM submissions o
           WHERE o.mode = s.mode AND o.customer_id = s.customer_id AND o.request_id = $3) THEN $3 END,
        ack_status = $5, warnings = $6,
        submitted_at = coalesce(submitted_at, (SELECT max(sending_at) FROM attempts a
           WHERE a.filing_id = $1 AND a.submission = $2), $7)
      WHERE filing_id = $1 AND submission = $2 AND state IN ('planned', 'acknowledged') AND request_id IS NULL
        AND EXISTS (SELECT FROM attempts WHERE attempt_id = $8 AND state = 'answered')`,
    [
      filingId,
      submission,
      answer.requestId ?? null,
      answer.dgftAckId ?? null,
      answer.ackStatus ?? null,
      JSON.stringify(answer.warnings ?? []),
      at,
      attemptId,
    ],
  );
  if (!rowCount) return false;
  await moveRows(db, { filingId, submission, state: 'submitted' });
  return true;
}

/** The submission that is processed under a request id of the filing's exporter, or null. */
export async function submissionOfRequest(
  db: Queryable,
  { filingId, requestId }: { filingId: string; requestId: string },
): Promise<{ filingId: string; submission: number } | null> {
  const { rows } = await db.query<{ filingId: string; submission: number }>(
    `SELECT s.filing_id AS "filingId", s.submission FROM filings f JOIN submissions s ON s.mode = f.mode AND s.customer_id = f.exporter_id
      WHERE f.filing_id = $1 AND s.request_id = $2`,
    [filingId, requestId],
  );
  return rows[0] ?? null;
}

/** Sets the state of a submission. */
export async function moveSubmission(
  db: Queryable,
  {
    filingId,
    submission,
    state,
    processingStatus,
    at,
  }: { filingId: string; submission: number; state: SubmissionState; processingStatus?: string | null; at: Date },
): Promise<void> {
  await db.query(
    `UPDATE submissions SET state = $3, processing_status = coalesce($4, processing_status),
        terminal_at = CASE WHEN $3 IN ('terminal', 'settled', 'released') THEN coalesce(terminal_at, $5) ELSE terminal_at END
      WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission, state, processingStatus ?? null, at],
  );
}

/**
 * Marks the refused submission, and those that were never sent, as released; a submission that is being sent or was
 * accepted is kept.
 */
export async function releaseSubmissions(
  db: Queryable,
  { filingId, refused, at }: { filingId: string; refused: number | null; at: Date },
): Promise<void> {
  await db.query(
    `UPDATE submissions s SET state = 'released', terminal_at = $3
      WHERE filing_id = $1 AND (submission = $2 OR state = 'planned') AND state <> 'released'
        AND NOT EXISTS (SELECT FROM attempts a WHERE a.filing_id = $1 AND a.submission = s.submission
          AND a.state IN ('sending', 'answered'))`,
    [filingId, refused, at],
  );
}

export async function savePollState(
  db: Queryable,
  { filingId, submission, pollState }: { filingId: string; submission: number; pollState: PollState },
): Promise<void> {
  await db.query('UPDATE submissions SET poll_state = $3 WHERE filing_id = $1 AND submission = $2', [
    filingId,
    submission,
    JSON.stringify(pollState),
  ]);
}

/** The workbook that was uploaded for a submission, by its name in the document store. */
export async function saveSubmissionDocument(
  db: Queryable,
  { filingId, submission, document }: { filingId: string; submission: number; document: string },
): Promise<void> {
  await db.query('UPDATE submissions SET document = $3 WHERE filing_id = $1 AND submission = $2', [
    filingId,
    submission,
    document,
  ]);
}
