import { isLive, ROW_STATES, type RowState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import type { OpenRow } from '../../domain/reconciliation/certificate-matching';
import type { ExtraValues, Mapping } from '../../domain/filing/mapping';
import type { FilingCounts } from '../../domain/contracts';
import { closeOpenAttempts } from '../submissions/attempts';
import { lockFiling } from '../filings/filing-lock';
import { giveRowsBack } from './row-takeover';
import { UNSETTLED_STATES } from './settle-rows';
import type { Queryable } from '../pool';

export { settleRows } from './settle-rows';

/** A row of the ledger; `serialNo` is the number that was, or will be, sent. */
export interface FilingRow {
  position: number;
  sourceRow: number;
  submission: number;
  serialNo: number;
  mapping: Mapping;
  extra: ExtraValues | null;
  state: RowState;
  eBRCNumber: string | null;
  eBRCDate: string | null;
  errors: string[];
  takenOverBy: string | null;
}

/** The rows of a filing, or of one of its submissions, in order. */
export async function readRows(db: Queryable, filingId: string, submission?: number): Promise<FilingRow[]> {
  const { rows } = await db.query<FilingRow>(
    `SELECT position, source_row AS "sourceRow", submission, serial_no AS "serialNo", mapping, extra, state,
            ebrc_number AS "eBRCNumber", ebrc_date AS "eBRCDate", errors, taken_over_by AS "takenOverBy"
       FROM filing_rows WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2) ORDER BY position`,
    [filingId, submission ?? null],
  );
  return rows;
}

/**
 * Sets the unsettled rows of a submission to another state, such as `submitted`. Abandoned rows are left unchanged.
 * @returns how many
 */
export async function moveRows(
  db: Queryable,
  { filingId, submission, state }: { filingId: string; submission: number | null; state: RowState },
): Promise<number> {
  const { rowCount } = await db.query(
    `UPDATE filing_rows SET state = $3, live = $4
      WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2) AND state = ANY($5)`,
    [filingId, submission, state, isLive(state), UNSETTLED_STATES.filter((each) => each !== 'abandoned_after_send')],
  );
  return rowCount ?? 0;
}

type Freed = 'needs_correction' | 'withdrawn';

/**
 * Frees the rows of a submission of which the service accepted nothing: their mappings may be filed again, and rows
 * that were taken over from a corrected filing go back to it. Its open attempt is closed too; a submission that is
 * being sent, or was accepted, keeps its rows. Must run in a transaction.
 */
export async function releaseRows(
  db: Queryable,
  { filingId, submission, state, at }: { filingId: string; submission: number; state: Freed; at: Date },
): Promise<void> {
  await lockFiling(db, filingId);
  await closeOpenAttempts(db, { filingId, submission, reason: 'its rows were released', at });
  await db.query(
    `UPDATE filing_rows SET state = $3, live = false, reserved_at = NULL, settled_at = $4
      WHERE filing_id = $1 AND submission = $2 AND state = ANY($5)
        AND NOT EXISTS (SELECT FROM attempts WHERE filing_id = $1 AND submission = $2 AND state IN ('sending', 'answered'))`,
    [filingId, submission, state, at, UNSETTLED_STATES],
  );
  await giveBackIfAllFree(db, filingId);
}

/**
 * Frees the rows that were never sent and closes their open attempts; rows that are, or may be, at the service are left
 * unchanged. Must run in a transaction.
 */
export async function releaseUnsent(
  db: Queryable,
  { filingId, state, at }: { filingId: string; state: Freed; at: Date },
): Promise<void> {
  await lockFiling(db, filingId);
  await closeOpenAttempts(db, { filingId, reason: 'its rows were released', at });
  await db.query(
    `UPDATE filing_rows SET state = $2, live = false, reserved_at = NULL, settled_at = $3
      WHERE filing_id = $1 AND state = 'planned' AND submitted_at IS NULL`,
    [filingId, state, at],
  );
  await giveBackIfAllFree(db, filingId);
}

async function giveBackIfAllFree(db: Queryable, filingId: string): Promise<void> {
  const { rows } = await db.query<{ kept: number }>(
    'SELECT count(*)::int AS kept FROM filing_rows WHERE filing_id = $1 AND live',
    [filingId],
  );
  if (rows[0]?.kept === 0) await giveRowsBack(db, filingId);
}

/** Stores findings with the rows they are about. */
export async function saveRowErrors(db: Queryable, filingId: string, findings: readonly Finding[]): Promise<void> {
  const byRow = new Map<number, string[]>();
  for (const { row, message } of findings) if (row !== null) byRow.set(row, [...(byRow.get(row) ?? []), message]);
  const errors = [...byRow].map(([row, messages]) => ({ row, messages }));
  await db.query(
    `UPDATE filing_rows r SET errors = e.messages
       FROM jsonb_to_recordset($2::jsonb) AS e (row int, messages jsonb)
      WHERE r.filing_id = $1 AND r.source_row = e.row AND NOT r.live`,
    [filingId, JSON.stringify(errors)],
  );
}

/** Rows of a filing, or of one of its submissions, that have no outcome yet. */
export async function countOpenRows(db: Queryable, filingId: string, submission?: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM filing_rows
      WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2) AND state IN ('planned', 'submitted', 'unknown')`,
    [filingId, submission ?? null],
  );
  return rows[0]?.n ?? 0;
}

/** Rows by outcome as {@link FilingCounts}, and where from; a condition on the rows `r` follows. */
export const ROW_COUNTS = `count(*)::int AS rows,
            count(*) FILTER (WHERE r.state = 'certified')::int AS certified,
            count(*) FILTER (WHERE r.state = 'certified' AND c.archived_at IS NOT NULL)::int AS archived,
            count(*) FILTER (WHERE r.state IN ('needs_correction', 'corrected'))::int AS errored,
            count(*) FILTER (WHERE r.state IN ('planned', 'submitted', 'unknown'))::int AS open
       FROM filing_rows r LEFT JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number`;

/** Rows by outcome. `open`: neither certified nor errored nor abandoned. */
export async function countRows(db: Queryable, filingId: string): Promise<FilingCounts> {
  const { rows } = await db.query<FilingCounts>(`SELECT ${ROW_COUNTS} WHERE r.filing_id = $1`, [filingId]);
  return rows[0] ?? { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 };
}

/** The row states of a filing, from which its end follows. */
export async function rowStates(db: Queryable, filingId: string): Promise<RowState[]> {
  const { rows } = await db.query<{ state: RowState }>('SELECT state FROM filing_rows WHERE filing_id = $1', [
    filingId,
  ]);
  return rows.map((row) => row.state).filter((state) => Object.hasOwn(ROW_STATES, state));
}

/**
 * The rows of a filing, or of one of its submissions, that were sent and lack a certificate, and the sent rows of all
 * other filings of the party, which could claim the same ones.
 */
export async function openRowsOf(
  db: Queryable,
  { filingId, submission, exporterId }: { filingId: string; submission?: number; exporterId: string },
): Promise<OpenRow[]> {
  const { rows } = await db.query<Omit<OpenRow, 'mine'> & { submission: number }>(
    `SELECT filing_id AS "filingId", position, submission, mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber",
            mapping->>'sbCumInvoiceDate' AS "sbCumInvoiceDate", mapped_amount::text AS "mappedIRMAmountFCC", currency,
            mapping->>'billNo' AS "billNo"
       FROM filing_rows
      WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1) AND live AND ebrc_number IS NULL
        AND submitted_at IS NOT NULL
      ORDER BY filing_id, position`,
    [exporterId],
  );
  return rows.map(({ submission: of, ...row }) => ({
    ...row,
    mine: row.filingId === filingId && (submission === undefined || of === submission),
  }));
}
