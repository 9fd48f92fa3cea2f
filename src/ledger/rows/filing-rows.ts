import { OPEN_ROW_STATES, SHOWS_ROWS, type RowState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import type { OpenRow } from '../../domain/reconciliation/certificate-matching';
import type { ExtraValues, Mapping } from '../../domain/filing/mapping';
import { ROWS_IN_RESULT } from '../../domain/contracts';
import { FilingMissing, type FilingRecord } from '../filings/filings';
import { sqlWords, type Queryable } from '../pool';
import { credentialsHeld, type CredentialVersion } from '../vault/credentials';
import type { SubmissionKey } from '../../domain/filing/attempt';

export const IS_OPEN = `state IN (${sqlWords(OPEN_ROW_STATES)})`;

/** SQL: rows `r`, each with its certificate `c` if it has one. */
export const ROWS_AND_CERTIFICATES =
  'filing_rows r LEFT JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number';

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

const ROWS = `SELECT position, source_row AS "sourceRow", submission, serial_no AS "serialNo", mapping, extra, state,
            ebrc_number AS "eBRCNumber", ebrc_date AS "eBRCDate", errors, taken_over_by AS "takenOverBy"
       FROM filing_rows WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2) ORDER BY position`;

/** The most messages of a row in a result, and the most characters of each, so that results fit a Temporal payload. */
const RESULT_ERRORS = 5;
const RESULT_ERROR_LENGTH = 300;

/** SQL: the first rows of a filing, for its result; null in states that show none. */
export const resultRows = (filingId: string, state: string) =>
  `CASE WHEN ${state} IN (${sqlWords(SHOWS_ROWS)}) THEN (
     SELECT coalesce(jsonb_agg(to_jsonb(shown) - 'position' ORDER BY position), '[]') FROM (
       SELECT r.position, r.source_row AS row, r.serial_no AS "serialNo", r.mapping->>'irmNumber' AS "irmNumber",
              r.mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber", r.state, r.ebrc_number AS "eBRCNumber",
              c.pdf_document AS document, c.pdf_sha256 AS sha256,
              (SELECT coalesce(jsonb_agg(left(text, ${RESULT_ERROR_LENGTH}) ORDER BY n), '[]')
                 FROM jsonb_array_elements_text(r.errors) WITH ORDINALITY AS e (text, n) WHERE n <= ${RESULT_ERRORS}) AS errors
         FROM ${ROWS_AND_CERTIFICATES}
        WHERE r.filing_id = ${filingId} ORDER BY r.position LIMIT ${ROWS_IN_RESULT}) AS shown) END`;

export async function readRows(db: Queryable, filingId: string, submission?: number): Promise<FilingRow[]> {
  const { rows } = await db.query<FilingRow>(ROWS, [filingId, submission ?? null]);
  return rows;
}

/** What is needed to send a submission, with the client's credentials. @throws FilingMissing */
export async function readToSend(db: Queryable, { filingId, submission }: SubmissionKey) {
  const { rows } = await db.query<
    Pick<FilingRecord, 'exporterId' | 'uploadType' | 'declaration'> & {
      rows: FilingRow[];
      credentials: CredentialVersion | null;
    }
  >(
    `SELECT f.exporter_id AS "exporterId", f.upload_type AS "uploadType", f.declaration,
            (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.position), '[]') FROM (${ROWS}) AS r) AS rows,
            ${credentialsHeld('f.exporter_id')} AS credentials
       FROM filings f WHERE f.filing_id = $1`,
    [filingId, submission],
  );
  if (!rows[0]) throw new FilingMissing(filingId);
  return rows[0];
}

/** Moves a submission's open rows (null: the filing's) to a state that keeps their mappings held. @returns how many */
export async function moveRows(
  db: Queryable,
  args: { filingId: string; submission: number | null; state: 'submitted' | 'unknown' | 'abandoned_after_send' },
): Promise<number> {
  const { filingId, submission, state } = args;
  const { rowCount } = await db.query(
    `UPDATE filing_rows SET state = $3 WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2)
        AND live AND ${IS_OPEN}`,
    [filingId, submission, state],
  );
  return rowCount ?? 0;
}

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

export async function countOpenRows(db: Queryable, filingId: string, submission?: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM filing_rows
      WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2) AND ${IS_OPEN}`,
    [filingId, submission ?? null],
  );
  return rows[0]?.n ?? 0;
}

/** SQL: the counts of a filing's rows by outcome, with the FROM clause; a condition on the rows `r` must follow. */
export const ROW_COUNTS = `count(*)::int AS rows,
            count(*) FILTER (WHERE r.state = 'certified')::int AS certified,
            count(*) FILTER (WHERE r.state = 'certified' AND c.archived_at IS NOT NULL)::int AS archived,
            count(*) FILTER (WHERE r.state IN ('needs_correction', 'corrected'))::int AS errored,
            count(*) FILTER (WHERE r.state = 'corrected')::int AS corrected,
            count(*) FILTER (WHERE r.${IS_OPEN})::int AS open
       FROM ${ROWS_AND_CERTIFICATES}`;

/** SQL: row `o` may get a certificate, or have used a balance without one: it was sent, or released as absent. */
export const IS_CANDIDATE = `(o.ebrc_number IS NULL AND ((o.live AND o.submitted_at IS NOT NULL)
  OR ((NOT o.live OR o.state = 'planned') AND EXISTS (SELECT FROM attempts a
    WHERE a.filing_id = o.filing_id AND a.submission = o.submission AND a.verdict = 'absent'))
  OR EXISTS (SELECT FROM releases l WHERE l.release_id = o.release_id AND l.ground = 'absent')))`;

/** Rows of a party that may get a certificate. `mine`: this submission's. */
export async function candidateRows(
  db: Queryable,
  { filingId, submission, exporterId }: SubmissionKey & { exporterId: string },
): Promise<OpenRow[]> {
  const { rows } = await db.query<Omit<OpenRow, 'mine'> & { submission: number }>(
    `SELECT filing_id AS "filingId", position, submission, mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber",
            mapping->>'sbCumInvoiceDate' AS "sbCumInvoiceDate", mapped_amount::text AS "mappedIRMAmountFCC", currency,
            mapping->>'sbCumInvoiceFCC' AS "documentCurrency", irm_key AS "irmKey", mapping->>'billNo' AS "billNo"
       FROM filing_rows o
      WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1) AND ${IS_CANDIDATE}
      ORDER BY coalesce(submitted_at, reserved_at), filing_id, position`,
    [exporterId],
  );
  return rows.map(({ submission: of, ...row }) => ({ ...row, mine: row.filingId === filingId && of === submission }));
}
