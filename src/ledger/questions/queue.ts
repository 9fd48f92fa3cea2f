import { queuePlaces, type Queued, type QueuePlace } from '../../domain/filing/queue-places';
import type { FilingState } from '../../domain/filing/states';
import { RATE_LIMITS } from '../../domain/names';
import type { Queryable } from '../pool';

/** The filings that stand in line for calls of the service, by id: those to be sent, and those that collect PDFs. */
export async function readQueue(
  db: Queryable,
  of: { mode: string } | { filingId: string },
): Promise<Map<string, QueuePlace>> {
  const { rows } = await db.query<Queued & { rateClass: 'push' | 'bulk' | 'pdf' }>(
    `SELECT f.filing_id AS "filingId", f.exporter_id AS "exporterId",
            CASE f.state WHEN 'collecting' THEN 'pdf' ELSE f.channel END AS "rateClass",
            CASE f.state WHEN 'collecting'
              THEN (SELECT count(*) FROM filing_rows r LEFT JOIN certificates c
                      ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
                     WHERE r.filing_id = f.filing_id AND r.state = 'certified' AND c.archived_at IS NULL)
              ELSE (SELECT count(*) FROM submissions s WHERE s.filing_id = f.filing_id AND s.state = 'planned')
            END::int AS calls
       FROM filings f WHERE f.mode = coalesce($1, (SELECT mode FROM filings WHERE filing_id = $2)) AND f.state IN ('submitting', 'collecting')
      ORDER BY f.due_at, f.filing_id`,
    'mode' in of ? [of.mode, null] : [null, of.filingId],
  );
  const places = (['push', 'bulk', 'pdf'] as const).map((rateClass) =>
    queuePlaces(
      rows.filter((row) => row.rateClass === rateClass),
      RATE_LIMITS[rateClass],
    ),
  );
  return new Map(places.flatMap((each) => [...each]));
}

/** The place in line of one filing; null where it stands in none. */
export async function readPlace(
  db: Queryable,
  { filingId, state }: { filingId: string; state: FilingState },
): Promise<QueuePlace | null> {
  if (state !== 'submitting' && state !== 'collecting') return null;
  return (await readQueue(db, { filingId })).get(filingId) ?? null;
}
