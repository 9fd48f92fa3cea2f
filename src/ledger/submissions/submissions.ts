import type { SubmissionState } from '../../domain/filing/states';
import { FilingMissing } from '../filings/filings';
import type { Queryable } from '../pool';
import type { SubmissionKey } from '../../domain/filing/attempt';

export interface SubmissionRecord {
  submission: number;
  rowCount: number;
  state: SubmissionState;
  /** When it was first sent, by the mark of an attempt or the age of a request; null: never. */
  submittedAt: Date | null;
  document: string | null;
}

export async function readSubmissions(db: Queryable, filingId: string): Promise<SubmissionRecord[]> {
  const { rows } = await db.query<SubmissionRecord>(
    `SELECT submission, row_count AS "rowCount", state, document,
            least((SELECT min(marked_at) FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission
                     AND a.verdict IN ('marked', 'accepted', 'rejected')),
                  (SELECT min(since) FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission)) AS "submittedAt"
       FROM submissions s WHERE filing_id = $1 ORDER BY submission`,
    [filingId],
  );
  return rows;
}

/** @throws FilingMissing if the ledger does not hold the submission */
export async function needSubmission(db: Queryable, filingId: string, submission: number): Promise<SubmissionRecord> {
  const found = (await readSubmissions(db, filingId)).find((each) => each.submission === submission);
  if (!found) throw new FilingMissing(filingId, `Submission ${submission} of filing ${filingId}`);
  return found;
}

/** Ends a submission: every row has its outcome, or it was released. */
export async function settleSubmission(
  db: Queryable,
  args: SubmissionKey & { state: Extract<SubmissionState, 'settled' | 'released'>; at: Date },
): Promise<void> {
  const { filingId, submission, state, at } = args;
  await db.query(
    `UPDATE submissions SET state = $3, terminal_at = coalesce(terminal_at, $4) WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission, state, at],
  );
}

/** Saves the name, in the document store, of the workbook that was uploaded for a submission. */
export async function saveSubmissionDocument(
  db: Queryable,
  { filingId, submission, document }: SubmissionKey & { document: string },
): Promise<void> {
  await db.query('UPDATE submissions SET document = $3 WHERE filing_id = $1 AND submission = $2', [
    filingId,
    submission,
    document,
  ]);
}
