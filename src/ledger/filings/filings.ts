import type { ResumedFiling } from '../../domain/filing/run-judgement';
import type { FilingState } from '../../domain/filing/states';
import type { Mode } from '../../domain/names';
import { QUESTION_COLUMNS } from '../questions/questions';
import { MS } from '../paging';
import type { Queryable } from '../pool';

/** The ledger does not hold the filing: it was put back, or is another one. The run reads its state and goes on. */
export class FilingMissing extends Error {
  override readonly name = 'FilingMissing';

  constructor(filingId: string, what = `Filing ${filingId}`) {
    super(`${what} is not in this ledger. Is DATABASE_URL the one it was made with?`);
  }
}

/** The part of a filing's record that its run holds too. */
export interface FilingHead extends ResumedFiling {
  needsAttention: boolean;
  attention: string | null;
  questionCount: number;
  /** The question of its last move. */
  asks: string | null;
  /** The question that was opened when its state took too long. */
  late: string | null;
  workflowId: string;
  contentHash: string;
  channel: 'push' | 'bulk';
  state: FilingState;
  seq: number;
  approvalNeeded: boolean;
  approvedBy: string | null;
  /** Whether a person has been asked about its unknown outcome. */
  asked: boolean;
  /** When its next state is due; epoch ms. */
  dueAt: number | null;
  waitsFor: string | null;
}

export interface FilingRecord extends FilingHead {
  corrects: string | null;
  inputRef: string;
  uploadType: number;
  declaration: 'Y' | 'N';
  errors: unknown[];
  warnings: unknown[];
  evidence: unknown;
  madeAt: Date;
  /** The maker's grant; null: `madeBy` is only a claim. */
  grantId: string | null;
  annotated: string | null;
  closedAt: Date | null;
  /** Whether it has ended and some of its rows wait for a correction. */
  correctable: boolean;
  requestId: string | null;
  dgftAckId: string | null;
}

/** SQL: whether `state` is an unknown outcome that a person was asked about, for a row of `filings`. */
export const isAsked = (state: string): string =>
  `(${state} = 'outcome_unknown' AND 'asked' = (SELECT kind FROM filing_events e
     WHERE e.filing_id = filings.filing_id AND kind IN ('outcome_unknown', 'asked') ORDER BY event_id DESC LIMIT 1))`;
export const IS_ASKED = isAsked('filings.state');

/** SQL: the columns of {@link FilingHead} from the table `filings`, without an alias. */
export const HEAD_COLUMNS = `filing_id AS "filingId", mode, exporter_id AS "exporterId", reference, n, made_by AS "madeBy",
  workflow_id AS "workflowId", content_hash AS "contentHash", channel, state, seq::int AS seq, ${QUESTION_COLUMNS},
  approval_needed AS "approvalNeeded", approved_by AS "approvedBy", ${IS_ASKED} AS asked,
  ${MS('due_at')} AS "dueAt", waits_for AS "waitsFor"`;

export const FILING_COLUMNS = `${HEAD_COLUMNS}, corrects, input_ref AS "inputRef", upload_type AS "uploadType", declaration,
  errors, warnings, evidence, made_at AS "madeAt", grant_id AS "grantId", annotated, closed_at AS "closedAt",
  (closed_at IS NOT NULL AND filings.state <> 'certified' AND EXISTS (SELECT FROM filing_rows r
     WHERE r.filing_id = filings.filing_id AND r.state = 'needs_correction')) AS correctable,
  (SELECT request_id FROM submission_progress s WHERE s.filing_id = filings.filing_id AND submission = 1) AS "requestId",
  (SELECT dgft_ack_id FROM submission_progress s WHERE s.filing_id = filings.filing_id AND submission = 1) AS "dgftAckId"`;

export async function getFiling(db: Queryable, filingId: string): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(`SELECT ${FILING_COLUMNS} FROM filings WHERE filing_id = $1`, [
    filingId,
  ]);
  return rows[0] ?? null;
}

/** @throws FilingMissing naming the id */
export async function needFiling(db: Queryable, filingId: string): Promise<FilingRecord> {
  const filing = await getFiling(db, filingId);
  if (!filing) throw new FilingMissing(filingId);
  return filing;
}

/** A filing by id, workflow id, `REFERENCE` (its newest filing) or `REFERENCE#n`, unless that is itself a reference. */
export async function findFiling(db: Queryable, mode: Mode, idOrReference: string): Promise<FilingRecord | null> {
  const [, reference = null, n = null] = /^(.+)#(\d{1,9})$/su.exec(idOrReference) ?? [];
  const { rows } = await db.query<FilingRecord>(
    `SELECT ${FILING_COLUMNS} FROM filings
      WHERE mode = $1 AND (filing_id = $2 OR workflow_id = $2 OR reference = $2 OR (reference = $3 AND n = $4))
      ORDER BY (filing_id = $2) DESC, (reference = $2) DESC, coalesce(reference = $3 AND n = $4, false) DESC, n DESC LIMIT 1`,
    [mode, idOrReference, reference, n],
  );
  return rows[0] ?? null;
}

export type Reference = Pick<FilingRecord, 'mode' | 'reference'>;

export async function filingOfReference(
  db: Queryable,
  { mode, reference, n }: Reference & { n: number },
): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(
    `SELECT ${FILING_COLUMNS} FROM filings WHERE mode = $1 AND reference = $2 AND n = $3`,
    [mode, reference, n],
  );
  return rows[0] ?? null;
}

/** The filing with this number under a reference, else the newest one; null: there is none. */
export async function standingOfReference(
  db: Queryable,
  { mode, reference, n }: Reference & { n: number },
): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(
    `SELECT ${FILING_COLUMNS} FROM filings WHERE mode = $1 AND reference = $2 ORDER BY (n = $3) DESC, n DESC LIMIT 1`,
    [mode, reference, n],
  );
  return rows[0] ?? null;
}

/** The number of the next filing under a reference, be it a correction or filed again. */
export async function nextNumber(db: Queryable, { mode, reference }: Reference): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT coalesce(max(n), 0)::int + 1 AS n FROM filings WHERE mode = $1 AND reference = $2',
    [mode, reference],
  );
  return rows[0]?.n ?? 1;
}

/** {@link nextNumber}, if all filings of the reference ended and none has a live row, so that it may be filed again. */
export async function numberToFileAgain(db: Queryable, { mode, reference }: Reference): Promise<number | null> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT max(n)::int + 1 AS n FROM filings f WHERE mode = $1 AND reference = $2
     HAVING bool_and(f.closed_at IS NOT NULL AND NOT EXISTS
       (SELECT FROM filing_rows r WHERE r.filing_id = f.filing_id AND r.live))`,
    [mode, reference],
  );
  return rows[0]?.n ?? null;
}

export async function listCorrections(db: Queryable, filingId: string) {
  const { rows } = await db.query<{ filingId: string; n: number; contentHash: string }>(
    `SELECT filing_id AS "filingId", n, content_hash AS "contentHash"
       FROM filings WHERE corrects = $1 ORDER BY n`,
    [filingId],
  );
  return rows;
}
