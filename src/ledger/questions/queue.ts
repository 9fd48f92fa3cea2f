import { queuePlaces, type Queued, type QueuePlace } from '../../domain/filing/queue-places';
import { RATE_LIMITS } from '../../domain/names';
import type { Queryable } from '../pool';

const WINDOW_MS = 60_000;

/** The filings that stand in line for calls of the service, by id: those to be sent, and those that collect PDFs. */
export async function readQueue(db: Queryable, mode: string): Promise<Map<string, QueuePlace>> {
  const { rows } = await db.query<Queued & { rateClass: 'push' | 'bulk' | 'pdf' }>(
    `SELECT f.filing_id AS "filingId", f.exporter_id AS "exporterId",
            CASE f.state WHEN 'collecting' THEN 'pdf' ELSE f.channel END AS "rateClass",
            CASE f.state WHEN 'collecting'
              THEN (SELECT count(*) FROM filing_rows r LEFT JOIN certificates c
                      ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
                     WHERE r.filing_id = f.filing_id AND r.state = 'certified' AND c.archived_at IS NULL)
              ELSE (SELECT count(*) FROM submissions s WHERE s.filing_id = f.filing_id AND s.state = 'planned')
            END::int AS calls
       FROM filings f WHERE f.mode = $1 AND f.state IN ('submitting', 'collecting')
      ORDER BY f.due_at, f.filing_id`,
    [mode],
  );
  const places = (['push', 'bulk', 'pdf'] as const).map((rateClass) =>
    queuePlaces(
      rows.filter((row) => row.rateClass === rateClass),
      RATE_LIMITS[rateClass],
      WINDOW_MS,
    ),
  );
  return new Map(places.flatMap((each) => [...each]));
}
