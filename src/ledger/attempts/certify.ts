/** Gives rows their certificates. A certificate is one row's; what the service causes here is never an exception. */
import type { Mode } from '../../domain/names';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import type { LockedFiling } from '../filings/lock';

/** SQL: the {@link RowFacts} of row `r`. */
export const ROW_FACTS = `r.position, r.source_row AS "row", r.irm_key AS "irmKey", r.mapping ->> 'irmNumber' AS "irmNumber",
  r.document_key AS "documentKey", r.document_on AS "documentOn", r.bill_key AS "billKey", r.amount::text AS amount,
  upper(btrim(r.currency)) AS currency, r.mapping ->> 'sbCumInvoiceValueinFCC' AS "documentAmount",
  upper(btrim(r.mapping ->> 'sbCumInvoiceFCC')) AS "documentCurrency"`;

/** SQL: the {@link Certificate} of certificate `c`. */
export const CERTIFICATE = `c.ebrc_number AS number, c.ebrc_date AS date, c.issued_on AS "issuedOn", c.status,
  c.document_key AS "documentKey", c.document_on AS "documentOn", c.bill_key AS "billKey", c.amount::text AS amount,
  upper(btrim(c.currency)) AS currency, ${MS('c.first_seen_at')} AS "firstSeenAt"`;

/**
 * Waits until nobody else gives certificates of the company to rows, so that a certificate that is nobody's stays so
 * until the end of the transaction. The last lock: after IRMs, filing and rows.
 */
async function lockCertificates(client: Queryable, { mode, iec }: { mode: Mode; iec: string | null }): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7))', [`certificates/${mode}/${iec ?? ''}`]);
}

/**
 * Certifies sent rows by certificates whose details were read. Requires the filing's lock.
 * @returns the positions that were certified; the others have an outcome, or their certificate is another row's
 */
export async function certifyRows(
  client: Queryable,
  { filingId, mode, iec }: Pick<LockedFiling, 'filingId' | 'mode' | 'iec'>,
  certificates: readonly { position: number; number: string }[],
  by: 'record' | 'details' | 'persons',
): Promise<Set<number>> {
  if (certificates.length === 0) return new Set();
  await lockCertificates(client, { mode, iec });
  const numbers = certificates.map(({ number }) => number);
  // Two steps, because PostgreSQL without statistics would join all rows with all certificates and all rows.
  const { rows: free } = await client.query<{ number: string; date: string | null }>(
    `SELECT c.ebrc_number AS number, c.ebrc_date AS date FROM certificates c
      WHERE c.mode = $1 AND c.iec = $2 AND c.ebrc_number = ANY ($3) AND c.ebrc_number <> ALL (ARRAY(
        SELECT o.ebrc_number FROM filing_rows o WHERE o.mode = $1 AND o.iec = $2 AND o.ebrc_number = ANY ($3)))`,
    [mode, iec, numbers],
  );
  const dates = new Map(free.map(({ number, date }) => [number, date]));
  const given = certificates.flatMap(({ position, number }) => {
    const date = dates.get(number);
    return date === undefined ? [] : { position, number, date };
  });
  const { rows } = await client.query<{ position: number; number: string }>(
    `UPDATE filing_rows r SET state = 'certified', ebrc_number = given.number, ebrc_date = given.date, certified_by = $3,
        errors = '[]', settled_at = clock_timestamp()
       FROM jsonb_to_recordset($2::jsonb) AS given (position int, number text, date text)
      WHERE r.filing_id = $1 AND r.position = given.position AND r.state = 'sent'
      RETURNING r.position, r.ebrc_number AS number`,
    [filingId, JSON.stringify(given), by],
  );
  await client.query(
    `UPDATE findings SET closed_at = clock_timestamp(), healed = 'it is a row''s'
      WHERE mode = $1 AND iec = $2 AND kind IN ('theirs_not_ours', 'late_certificate') AND ebrc_number = ANY($3)
        AND closed_at IS NULL`,
    [mode, iec, rows.map(({ number }) => number)],
  );
  return new Set(rows.map(({ position }) => position));
}
