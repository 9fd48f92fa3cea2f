import type { FilingState } from '../../domain/filing/states';
import type { ResumedFiling } from '../../domain/filing/resume-input';
import type { Mode } from '../../domain/names';
import { FilingMissing } from './filing-missing';
import type { Queryable } from '../pool';

/** A filing as the ledger holds it. */
export interface FilingRecord extends ResumedFiling {
  revision: number;
  corrects: string | null;
  workflowId: string;
  contentHash: string;
  inputRef: string;
  uploadType: number;
  declaration: 'Y' | 'N';
  channel: 'push' | 'bulk';
  state: FilingState;
  seq: number;
  needsAttention: boolean;
  attention: string | null;
  errors: unknown[];
  warnings: unknown[];
  evidence: unknown;
  note: string | null;
  madeAt: Date;
  approvalNeeded: boolean;
  approvedBy: string | null;
  annotated: string | null;
  closedAt: Date | null;
  /** Of the first submission. */
  requestId: string | null;
  dgftAckId: string | null;
  /** Whether a person has been asked about its unknown outcome. */
  asked: boolean;
}

/** Of {@link FilingRecord}, from the table `filings` under its own name. */
export const FILING_COLUMNS = `filing_id AS "filingId", mode, exporter_id AS "exporterId", reference, correction, revision, corrects,
  workflow_id AS "workflowId", content_hash AS "contentHash", input_ref AS "inputRef", upload_type AS "uploadType",
  declaration, channel, state, seq::int AS seq,
  (needs_attention OR run_problem IS NOT NULL) AS "needsAttention",
  nullif(concat_ws(' ', run_problem, attention), '') AS attention, errors, warnings,
  evidence, note, made_by AS "madeBy", made_at AS "madeAt", approval_needed AS "approvalNeeded",
  approved_by AS "approvedBy", annotated, closed_at AS "closedAt",
  (SELECT request_id FROM submissions s WHERE s.filing_id = filings.filing_id AND submission = 1) AS "requestId",
  (SELECT dgft_ack_id FROM submissions s WHERE s.filing_id = filings.filing_id AND submission = 1) AS "dgftAckId",
  (state = 'outcome_unknown' AND 'asked' = (SELECT kind FROM filing_events e WHERE e.filing_id = filings.filing_id
    AND kind IN ('outcome_unknown', 'asked') ORDER BY event_id DESC LIMIT 1)) AS asked`;

/** The filing with this id, or null. */
export async function getFiling(db: Queryable, filingId: string): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(`SELECT ${FILING_COLUMNS} FROM filings WHERE filing_id = $1`, [
    filingId,
  ]);
  return rows[0] ?? null;
}

/** As {@link getFiling}, for callers that need it. @throws FilingMissing naming the id. */
export async function needFiling(db: Queryable, filingId: string): Promise<FilingRecord> {
  const filing = await getFiling(db, filingId);
  if (!filing) throw new FilingMissing(filingId);
  return filing;
}

/**
 * A filing by its id, its workflow's id, or the caller's reference (`REFERENCE`, or `REFERENCE/n` for the n-th
 * correction, where no filing has that very reference); the newest revision where there are several.
 */
export async function findFiling(db: Queryable, mode: Mode, idOrReference: string): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(
    `SELECT ${FILING_COLUMNS} FROM filings
      WHERE mode = $1 AND (filing_id = $2 OR workflow_id = $2 OR (reference = $2 AND correction = 0)
        OR (correction > 0 AND reference || '/' || correction = $2))
      ORDER BY (filing_id = $2) DESC, (workflow_id = $2) DESC, (reference = $2) DESC, revision DESC LIMIT 1`,
    [mode, idOrReference],
  );
  return rows[0] ?? null;
}

/** The newest revision under a reference, or null. */
export async function latestRevision(
  db: Queryable,
  { mode, reference, correction }: { mode: Mode; reference: string; correction: number },
): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(
    `SELECT ${FILING_COLUMNS} FROM filings WHERE mode = $1 AND reference = $2 AND correction = $3
      ORDER BY revision DESC LIMIT 1`,
    [mode, reference, correction],
  );
  return rows[0] ?? null;
}

export interface FilingFilter {
  mode: Mode;
  state?: string;
  exporterId?: string;
  attention?: boolean;
  limit?: number;
}

/** Filings, newest first. */
export async function listFilings(db: Queryable, filter: FilingFilter): Promise<FilingRecord[]> {
  const { rows } = await db.query<FilingRecord>(
    `SELECT ${FILING_COLUMNS} FROM filings
      WHERE mode = $1 AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR lower(exporter_id) = lower($3))
        AND ($4::boolean IS NULL OR (needs_attention OR run_problem IS NOT NULL) = $4)
      ORDER BY made_at DESC, filing_id LIMIT $5`,
    [filter.mode, filter.state ?? null, filter.exporterId ?? null, filter.attention ?? null, filter.limit ?? 10_000],
  );
  return rows;
}

/** How many corrections a filing's reference has had. */
export async function countCorrections(db: Queryable, mode: Mode, reference: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT coalesce(max(correction), 0)::int AS n FROM filings WHERE mode = $1 AND reference = $2',
    [mode, reference],
  );
  return rows[0]?.n ?? 0;
}

/** A filing that took over errored rows of another. */
interface CorrectionRecord {
  filingId: string;
  /** Its number under the reference, from 1. */
  correction: number;
  contentHash: string;
}

/** The filings that correct this one, oldest first. */
export async function listCorrections(db: Queryable, filingId: string): Promise<CorrectionRecord[]> {
  const { rows } = await db.query<CorrectionRecord>(
    `SELECT filing_id AS "filingId", correction, content_hash AS "contentHash"
       FROM filings WHERE corrects = $1 ORDER BY correction, revision`,
    [filingId],
  );
  return rows;
}
