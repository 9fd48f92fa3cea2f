import { compareAmounts, subtractAmounts, sumAmounts } from '../../domain/money';
import { sameIrm } from '../exporters/irms';
import type { Queryable } from '../pool';

/** The smallest unit in which the service counts amounts. */
const SMALLEST_UNIT = '0.01';

interface Asked {
  filingId: string;
  submission: number;
  /** The row that fetch-details shows a certificate for, and the certificate's day of issue (DDMMYYYY). */
  position: number;
  eBRCDate: string | null;
  /** Every row of the submission that a certificate is shown for in the same look. */
  matched: readonly number[];
  /** Whether the settle window is over: what was filed and is not shown by then was not filed. */
  windowOver: boolean;
}

/**
 * Why an IRM's balance does not bear out a certificate that fetch-details shows for a row. It has to be read after the
 * certificate's issue and before the look that shows it, and since the reading in the snapshot its use has to have
 * grown by what was certified on it since and these rows. Within the settle window every other row that was sent on the
 * IRM and has no outcome counts too: it may be what used the balance. Null where the balance bears it out.
 */
export async function contradictedByBalance(db: Queryable, asked: Asked): Promise<string | null> {
  const { filingId, submission, position, eBRCDate, matched, windowOver } = asked;
  const { rows } = await db.query<{
    irmNumber: string;
    before: string | null;
    now: string | null;
    needed: string;
  }>(
    `WITH row AS (SELECT * FROM filing_rows WHERE filing_id = $1 AND position = $3),
       sent AS (
         SELECT a.marked_at, s.taken_at, s.balances FROM attempts a JOIN snapshots s USING (snapshot_id)
          WHERE a.filing_id = $1 AND a.submission = $2 AND a.marked_at IS NOT NULL ORDER BY a.number LIMIT 1),
       known AS (
         SELECT sum((b->>'available')::numeric) AS available, min((b->>'readAt')::timestamptz) AS read_at
           FROM row r, sent s, jsonb_array_elements(s.balances) AS b WHERE b->>'irmKey' = r.irm_key),
       look AS (SELECT max(began_at) AS at FROM looks WHERE complete AND party_id = (SELECT party_id FROM row))
     SELECT r.mapping->>'irmNumber' AS "irmNumber", k.available::text AS before,
            (SELECT CASE WHEN bool_and(i.available IS NOT NULL AND i.read_at > s.marked_at AND i.read_at <= look.at
                       AND (i.read_at AT TIME ZONE 'Asia/Kolkata')::date >= to_date($4, 'DDMMYYYY')) THEN sum(i.available)::text END
               FROM irms i, look WHERE i.exporter_id = r.exporter_id AND ${sameIrm('i.irm_key', 'r.irm_key')}) AS now,
            (SELECT coalesce(sum(o.mapped_amount), 0)::text FROM filing_rows o WHERE o.party_id = r.party_id AND ${sameIrm('o.irm_key', 'r.irm_key')}
                AND ((o.state = 'certified' AND o.settled_at > coalesce(k.read_at, s.taken_at))
                  OR (o.filing_id = $1 AND o.position = ANY($5))
                  OR (NOT $6 AND o.ebrc_number IS NULL AND o.live AND o.submitted_at IS NOT NULL))) AS needed
       FROM row r, sent s, known k`,
    [
      filingId,
      submission,
      position,
      eBRCDate !== null && /^\d{8}$/.test(eBRCDate) ? eBRCDate : '01011970',
      matched,
      windowOver,
    ],
  );
  const [found] = rows;
  if (!found || found.before === null || found.now === null)
    return 'the balance of its IRM was not read between the issue of the certificate and the look that shows it';
  const grown = subtractAmounts(found.before, found.now);
  if (compareAmounts(sumAmounts([grown, SMALLEST_UNIT]), found.needed) >= 0) return null;
  return `the balance of IRM ${found.irmNumber} fell by ${grown} since the send, and ${found.needed} would have to be filed on it`;
}
