/** One filing as the ledger has it, read without its lock. */
import type { Standing } from '../../domain/filing/view';
import type { FilingState } from '../../domain/filing/states';
import type { Mode } from '../../domain/names';
import { CANCELLED, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import type { Queryable } from '../pool';
import { RUN_FINDINGS } from '../runs';
import { FilingMissing, UNREAD_APPROVED } from './lock';

export interface FilingRecord extends Standing {
  filingId: string;
  mode: Mode;
  exporterId: string;
  exporterName: string | null;
  exporterEmail: string | null;
  iec: string | null;
  reference: string;
  n: number;
  corrects: string | null;
  workflowId: string;
  contentHash: string;
  inputRef: string;
  uploadType: number;
  declaration: 'Y' | 'N';
  channel: 'push' | 'bulk';
  madeBy: string;
  /** The principal who made it; null: `madeBy` is a claim. */
  makerId: string | null;
  madeAt: Date;
  approvedAt: Date | null;
  /** The evidence that it may be sent beside. */
  approvedEvidence: string[];
  unreadApproved: boolean;
  state: FilingState;
  since: Date;
  /** The number of changes of its state. */
  moves: number;
  dueAt: Date | null;
  attention: string | null;
  /** Somebody should look at it: it says so, or it is past the time by which it was due. */
  needsAttention: boolean;
  pauseUntil: Date | null;
  /** The attempt that may have arrived, and when it was made. */
  attempt: number | null;
  sentAt: Date | null;
  /** Its first request. */
  requestId: string | null;
  dgftAckId: string | null;
  errors: unknown[];
  warnings: unknown[];
  annotated: string | null;
  closedAt: Date | null;
}

const OVERDUE = '(f.closed_at IS NULL AND coalesce(f.due_at < clock_timestamp(), false))';

/** SQL: whether the run of filing `f` fails or is gone. */
const RUN_PROBLEM = `(f.closed_at IS NULL AND EXISTS (SELECT FROM ${RUN_FINDINGS}))`;

/** SQL: whether somebody should look at filing `f`. */
export const NEEDS_ATTENTION = `((f.attention IS NOT NULL OR f.closed_at IS NULL) AND (f.attention IS NOT NULL OR ${OVERDUE} OR ${RUN_PROBLEM}))`;

/** SQL: what is wrong with the run of filing `f`, then what the filing asks: a run that fails carries out nothing. */
const ATTENTION = `CASE WHEN f.closed_at IS NOT NULL THEN f.attention
  ELSE nullif(concat_ws(' ', (SELECT string_agg(w.text, ' ') FROM ${RUN_FINDINGS}), f.attention), '') END`;

/** What depends on rows is aggregated: for a list, PostgreSQL would hash the rows of all filings for an `EXISTS`. */
const COLUMNS = `f.filing_id AS "filingId", f.mode, f.exporter_id AS "exporterId", f.iec, f.reference, f.n, f.corrects,
  (SELECT name FROM exporters e WHERE e.exporter_id = f.exporter_id) AS "exporterName",
  (SELECT email FROM exporters e WHERE e.exporter_id = f.exporter_id) AS "exporterEmail", f.workflow_id AS "workflowId",
  f.content_hash AS "contentHash", f.input_ref AS "inputRef", f.upload_type AS "uploadType", f.declaration, f.channel,
  f.made_by AS "madeBy", f.maker_id AS "makerId", f.made_at AS "madeAt", f.approval, f.approved_at AS "approvedAt", f.approved_evidence AS "approvedEvidence", ${UNREAD_APPROVED},
  f.approved_at IS NOT NULL AS approved, f.state, f.since, f.moves, f.due_at AS "dueAt", ${ATTENTION} AS attention, f.asked, f.pause,
  f.pause_until AS "pauseUntil", f.errors, f.warnings, f.annotated, f.closed_at AS "closedAt", f.closed_at IS NOT NULL AS closed,
  ${OVERDUE} AS overdue, ${RUN_PROBLEM} AS "runProblem", ${NEEDS_ATTENTION} AS "needsAttention", a.number AS attempt, a.marked_at AS "sentAt",
  q.request_id AS "requestId", q.dgft_ack_id AS "dgftAckId",
  a.number IS NULL AND NOT coalesce((SELECT bool_or(r.state = 'certified') FROM filing_rows r WHERE r.filing_id = f.filing_id), false) AS unsent,
  coalesce((SELECT bool_and(r.state NOT IN ('planned', 'sent')) AND bool_or(r.corrected_by IS NULL
        AND (r.state IN ('rejected', 'released') OR c.ebrc_number IS NOT NULL))
      FROM filing_rows r LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE} AND ${CANCELLED} WHERE r.filing_id = f.filing_id), false) AS correctable`;

/** SQL: filings `f` as {@link FilingRecord}s; conditions and order follow. */
export const FILING_RECORDS = (more = ''): string => `SELECT ${COLUMNS}${more} FROM filings f
  LEFT JOIN LATERAL (SELECT number, marked_at FROM attempts a WHERE a.filing_id = f.filing_id
    AND a.verdict IN ('sending', 'unknown', 'accepted')) AS a ON true
  LEFT JOIN LATERAL (SELECT request_id, dgft_ack_id FROM attempts q WHERE q.filing_id = f.filing_id AND q.request_id IS NOT NULL
    ORDER BY q.number LIMIT 1) AS q ON true`;

async function readOne(db: Queryable, conditions: string, values: unknown[]): Promise<FilingRecord | null> {
  const { rows } = await db.query<FilingRecord>(`${FILING_RECORDS()} WHERE ${conditions}`, values);
  return rows[0] ?? null;
}

export async function getFiling(db: Queryable, filingId: string): Promise<FilingRecord | null> {
  return readOne(db, 'f.filing_id = $1', [filingId]);
}

/** @throws FilingMissing naming the id */
export async function needFiling(db: Queryable, filingId: string): Promise<FilingRecord> {
  const filing = await getFiling(db, filingId);
  if (!filing) throw new FilingMissing(filingId);
  return filing;
}

/** A filing by id, workflow id, `REFERENCE` (its newest filing) or `REFERENCE#n`, unless that is itself a reference. */
export async function findFiling(db: Queryable, mode: Mode, name: string): Promise<FilingRecord | null> {
  const [, reference = null, n = null] = /^(.+)#(\d{1,9})$/su.exec(name) ?? [];
  return readOne(
    db,
    `f.filing_id = (SELECT filing_id FROM filings s
        WHERE s.mode = $1 AND (s.filing_id = $2 OR s.workflow_id = $2 OR s.reference = $2 OR (s.reference = $3 AND s.n = $4))
        ORDER BY (s.filing_id = $2) DESC, (s.reference = $2) DESC, coalesce(s.reference = $3 AND s.n = $4, false) DESC, s.n DESC
        LIMIT 1)`,
    [mode, name, reference, n],
  );
}

/** The filing with this number under a reference; without a number, or where there is no such one, its newest. */
export async function filingOfReference(
  db: Queryable,
  { mode, reference, n = null }: { mode: Mode; reference: string; n?: number | null },
): Promise<FilingRecord | null> {
  return readOne(db, 'f.mode = $1 AND f.reference = $2 ORDER BY (f.n = $3) DESC NULLS LAST, f.n DESC LIMIT 1', [
    mode,
    reference,
    n,
  ]);
}

/** The corrections under a reference, oldest first. */
export async function correctionsUnder(
  db: Queryable,
  { mode, reference }: Pick<FilingRecord, 'mode' | 'reference'>,
): Promise<(Pick<FilingRecord, 'filingId' | 'n' | 'contentHash'> & { corrects: string })[]> {
  const { rows } = await db.query<Pick<FilingRecord, 'filingId' | 'n' | 'contentHash'> & { corrects: string }>(
    `SELECT filing_id AS "filingId", n, content_hash AS "contentHash", corrects
       FROM filings WHERE mode = $1 AND reference = $2 AND corrects IS NOT NULL ORDER BY n`,
    [mode, reference],
  );
  return rows;
}

export type FilingStanding = Pick<FilingRecord, 'filingId' | 'state' | 'asked' | 'moves' | 'closed'>;

/** The state of filings, and whether a person was asked, for callers that wait for them. */
export async function standingsOf(db: Queryable, filingIds: readonly string[]): Promise<FilingStanding[]> {
  const { rows } = await db.query<FilingStanding>(
    `SELECT filing_id AS "filingId", state, asked, moves, closed_at IS NOT NULL AS closed FROM filings WHERE filing_id = ANY($1)`,
    [filingIds],
  );
  return rows;
}
