/** Rows of filings as people and programs see them: of one filing, or of a whole reference. */
import { NO_ROWS } from '../../domain/contracts';
import type { Mapping } from '../../domain/filing/mapping';
import type { Counts, RowView } from '../../domain/filing/view';
import type { Mode } from '../../domain/names';
import { CANCELLED, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import type { Queryable } from '../pool';

/** A reference, and one number of it; null: the whole reference. */
export interface Scope {
  mode: Mode;
  reference: string;
  n: number | null;
}

/**
 * SQL: rows `r` of a reference ($1 mode, $2 reference) and one number ($3), with their certificates `c`. Of the whole
 * reference ($3 null) rows are left out that a correction files again, because they were freed or their certificate
 * was cancelled: its rows stand for them.
 */
const ROWS = `SELECT r.filing_id AS "filingId", f.n, r.position, r.source_row AS row, (r.mapping->>'serialNo')::int AS "serialNo",
    r.mapping->>'irmNumber' AS "irmNumber", r.mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber",
    r.amount::text AS "mappedIRMAmountFCC", r.currency, r.state, r.ebrc_number AS "eBRCNumber", r.ebrc_date AS "eBRCDate",
    CASE WHEN r.state = 'certified' AND ${CANCELLED} THEN c.status END AS cancelled,
    c.pdf_document AS pdf, c.pdf_sha256 AS sha256, c.pdf_note AS "pdfNote", r.errors, r.corrected_by AS "correctedBy"
  FROM filing_rows r JOIN filings f ON f.filing_id = r.filing_id
  LEFT JOIN certificates c ON c.mode = r.mode AND c.iec = r.iec AND c.ebrc_number = r.ebrc_number
 WHERE f.mode = $1 AND f.reference = $2 AND (f.n = $3 OR ($3 IS NULL AND (r.corrected_by IS NULL OR (r.held AND NOT ${CANCELLED}))))`;

const ORDER = `ORDER BY "serialNo", f.n, r.position`;

/** The rows of a filing, or of a whole reference, in the order of their serial numbers. */
export async function rowsOf(db: Queryable, { mode, reference, n }: Scope): Promise<RowView[]> {
  const { rows } = await db.query<RowView & { position: number }>(`${ROWS} ${ORDER}`, [mode, reference, n]);
  return rows.map(({ position: _, ...row }) => row);
}

/** A page of the same rows. `after`: the cursor that the page before gave as `next`; undefined: the first page. */
export async function rowsPage(
  db: Queryable,
  page: Scope & { after?: string; limit: number; state?: string },
): Promise<{ items: RowView[]; next: string | null }> {
  const { mode, reference, n, after, limit, state } = page;
  const [serialNo, number, position] = after === undefined ? [] : (readCursor(after) ?? []);
  const { rows } = await db.query<RowView & { position: number }>(
    `${ROWS} AND ($4::text IS NULL OR r.state = $4)
       AND ($5::int IS NULL OR ((r.mapping->>'serialNo')::int, f.n, r.position) > ($5, $6::int, $7::int)) ${ORDER} LIMIT $8`,
    [mode, reference, n, state, serialNo, number, position, limit + 1],
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    items: rows.slice(0, limit).map(({ position: _, ...row }) => row),
    next: last ? `${last.serialNo}.${last.n}.${last.position}` : null,
  };
}

/** The parts of a cursor of {@link rowsPage}; null for any other text. */
export function readCursor(text: string): number[] | null {
  return /^\d{1,9}\.\d{1,9}\.\d{1,9}$/.test(text) ? text.split('.').map(Number) : null;
}

/** How many rows of each kind there are. */
export function countsOf(rows: readonly Pick<RowView, 'state' | 'pdf' | 'correctedBy'>[]): Counts {
  const count = (matches: (row: (typeof rows)[number]) => boolean) => rows.filter(matches).length;
  const isFreed = ({ state }: { state: string }) => state === 'rejected' || state === 'released';
  return {
    rows: rows.length,
    certified: count(({ state }) => state === 'certified'),
    archived: count(({ state, pdf }) => state === 'certified' && pdf !== null),
    errored: count(isFreed),
    corrected: count((row) => isFreed(row) && row.correctedBy !== null),
    open: count(({ state }) => state === 'planned' || state === 'sent'),
  };
}

/** The counts of filings, by id. */
export async function countRows(db: Queryable, filingIds: readonly string[]): Promise<(filingId: string) => Counts> {
  // PostgreSQL caches a plan for `= $1`, but plans `= ANY($1)` at each call.
  const [of, value] = filingIds.length === 1 ? ['= $1', filingIds[0]] : ['= ANY($1)', filingIds];
  const { rows } = await db.query<Counts & { filingId: string }>(
    `SELECT r.filing_id AS "filingId", count(*)::int AS rows, count(*) FILTER (WHERE r.state = 'certified')::int AS certified,
            count(c.archived_at)::int AS archived, count(*) FILTER (WHERE r.state IN ('rejected', 'released'))::int AS errored,
            count(*) FILTER (WHERE r.state IN ('rejected', 'released') AND r.corrected_by IS NOT NULL)::int AS corrected,
            count(*) FILTER (WHERE r.state IN ('planned', 'sent'))::int AS open
       FROM filing_rows r LEFT JOIN certificates c ON c.mode = r.mode AND c.iec = r.iec AND c.ebrc_number = r.ebrc_number
      WHERE r.filing_id ${of} GROUP BY r.filing_id`,
    [value],
  );
  const counted = new Map(rows.map(({ filingId, ...counts }) => [filingId, counts]));
  return (filingId) => counted.get(filingId) ?? NO_ROWS;
}

/** A row of a reference, for whoever corrects it. */
export interface ReferenceRow {
  filingId: string;
  n: number;
  mapping: Mapping;
  /** It holds its mapping no longer. */
  freed: boolean;
  correctedBy: string | null;
  /** Its certificate, which the authority shows as cancelled; null: it is not, or it has none. */
  cancelled: string | null;
  errors: string[];
}

/** The rows of all filings of a reference. */
export async function rowsOfReference(
  db: Queryable,
  { mode, reference }: Pick<Scope, 'mode' | 'reference'>,
): Promise<ReferenceRow[]> {
  const { rows } = await db.query<ReferenceRow>(
    `SELECT r.filing_id AS "filingId", f.n, r.mapping, NOT r.held AS freed, r.corrected_by AS "correctedBy", r.errors,
            CASE WHEN ${CANCELLED} THEN c.ebrc_number END AS cancelled
       FROM filings f JOIN filing_rows r ON r.filing_id = f.filing_id LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE} WHERE f.mode = $1 AND f.reference = $2
      ORDER BY f.n, r.position`,
    [mode, reference],
  );
  return rows;
}
