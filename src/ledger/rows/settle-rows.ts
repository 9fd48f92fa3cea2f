import type { RowState } from '../../domain/filing/states';
import type { RowVerdict } from '../../domain/service/request-status';
import type { Queryable } from '../pool';

/** States of rows that an outcome of the service may still change. */
export const UNSETTLED_STATES: RowState[] = ['planned', 'submitted', 'unknown', 'abandoned_after_send'];

/**
 * Settles rows by the authority's answer: certified with their certificate, or errored with its messages. Open rows are
 * left unchanged; a settled row never changes, so that a repeated or late write has no effect. Two statements for any
 * number of rows. Must run in a transaction.
 */
export async function settleRows(
  db: Queryable,
  {
    filingId,
    exporterId,
    verdicts,
    at,
  }: { filingId: string; exporterId: string; verdicts: readonly RowVerdict[]; at: Date },
): Promise<void> {
  const certified = verdicts.filter((verdict) => verdict.outcome === 'certified');
  const errored = verdicts.filter((verdict) => verdict.outcome === 'errored');
  if (certified.length > 0) await certify(db, { filingId, exporterId, certified, at });
  if (errored.length === 0) return;
  await db.query(
    `UPDATE filing_rows r SET state = 'needs_correction', live = false, errors = v.errors, settled_at = $3
       FROM jsonb_to_recordset($2::jsonb) AS v (position int, errors jsonb)
      WHERE r.filing_id = $1 AND r.position = v.position AND r.state = ANY($4)`,
    [filingId, JSON.stringify(errored), at, UNSETTLED_STATES],
  );
}

/**
 * Claims the certificates first: the transaction that writes a number's claim holds it until it ends, for all filings
 * and clients of the party. If a number already belongs to another row, its row stays open instead of using it a second
 * time.
 */
async function certify(
  db: Queryable,
  {
    filingId,
    exporterId,
    certified,
    at,
  }: {
    filingId: string;
    exporterId: string;
    certified: readonly Extract<RowVerdict, { outcome: 'certified' }>[];
    at: Date;
  },
): Promise<void> {
  const { rows: claims } = await db.query<{ position: number; number: string }>(
    `WITH open AS (
       SELECT r.party_id, r.filing_id, r.position, v."eBRCNumber" AS number, v."eBRCDate" AS issued
         FROM jsonb_to_recordset($2::jsonb) AS v (position int, "eBRCNumber" text, "eBRCDate" text)
         JOIN filing_rows r ON r.filing_id = $1 AND r.position = v.position AND r.state = ANY($5)
        ORDER BY r.position FOR UPDATE OF r
     )
     INSERT INTO certificates AS c (party_id, exporter_id, ebrc_number, ebrc_date, filing_id, position, first_seen_at,
        claimed_at)
     SELECT DISTINCT ON (number) party_id, $3, number, issued, filing_id, position, $4::timestamptz, clock_timestamp() FROM open
      ORDER BY number, position
     ON CONFLICT (party_id, ebrc_number) DO UPDATE SET filing_id = excluded.filing_id, position = excluded.position,
       ebrc_date = coalesce(c.ebrc_date, excluded.ebrc_date), claimed_at = coalesce(c.claimed_at, excluded.claimed_at)
      WHERE c.filing_id IS NULL OR (c.filing_id, c.position) = (excluded.filing_id, excluded.position)
     RETURNING c.position, c.ebrc_number AS number`,
    [filingId, JSON.stringify(certified), exporterId, at, UNSETTLED_STATES],
  );
  const dates = new Map(certified.map(({ eBRCNumber, eBRCDate }) => [eBRCNumber, eBRCDate]));
  const claimed = claims.map(({ position, number }) => ({ position, number, issued: dates.get(number) ?? null }));
  await db.query(
    `UPDATE filing_rows r SET state = 'certified', live = true, ebrc_number = v.number, ebrc_date = v.issued, settled_at = $3,
        errors = '[]'
       FROM jsonb_to_recordset($2::jsonb) AS v (position int, number text, issued text)
      WHERE r.filing_id = $1 AND r.position = v.position AND r.state = ANY($4)`,
    [filingId, JSON.stringify(claimed), at, UNSETTLED_STATES],
  );
}
