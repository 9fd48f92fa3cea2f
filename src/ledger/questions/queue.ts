/** The filings that stand in line for calls of the service: those to be sent, and those that collect PDFs. */
import { queuePlaces, type Queued, type QueuePlace } from '../../domain/filing/queue-places';
import { RATE_LIMITS } from '../../domain/names';
import type { Queryable } from '../pool';

export type InLine = Queued & { rateClass: 'push' | 'bulk' | 'pdf' };

const queuedFilings = ({ mode, state = 'f.state' }: { mode: string; state?: string }): string =>
  `SELECT f.filing_id AS "filingId", f.exporter_id AS "exporterId",
          CASE ${state} WHEN 'collecting' THEN 'pdf' ELSE f.channel END AS "rateClass",
          CASE ${state} WHEN 'collecting'
            THEN (SELECT count(*) FROM filing_rows r LEFT JOIN certificates c
                    ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
                   WHERE r.filing_id = f.filing_id AND r.state = 'certified' AND c.archived_at IS NULL)
            ELSE (SELECT count(*) FROM submissions s WHERE s.filing_id = f.filing_id AND s.state = 'planned')
          END::int AS calls
     FROM filings f WHERE f.mode = ${mode} AND (f.state IN ('submitting', 'collecting')`;

/** The places of all filings of a mode that stand in a line, by id. */
export async function readQueue(db: Queryable, mode: string): Promise<Map<string, QueuePlace>> {
  const { rows } = await db.query<InLine>(`${queuedFilings({ mode: '$1' })}) ORDER BY f.due_at, f.filing_id`, [mode]);
  return placesOf(rows);
}

/** A filing's move tells its place in lines of at most so many in all: what it costs must not grow with them. */
const SHORT = 100;

/** In SQL: the lines of a filing that is moved to a state, for {@link placeIn}; null in states that wait in none. */
export const lineOf = ({
  filingId,
  mode,
  state,
  dueAt,
}: Record<'filingId' | 'mode' | 'state' | 'dueAt', string>): string =>
  `CASE WHEN ${state} IN ('submitting', 'collecting') THEN (SELECT jsonb_agg(to_jsonb(l)) FROM (
     ${queuedFilings({ mode, state: `(CASE WHEN f.filing_id = ${filingId} THEN ${state} ELSE f.state END)` })}
        OR f.filing_id = ${filingId})
     ORDER BY CASE WHEN f.filing_id = ${filingId} THEN ${dueAt} ELSE f.due_at END, f.filing_id LIMIT ${SHORT + 1}) AS l) END`;

/** The place of one filing in its line; null where it stands in none, or in one that is long. */
export function placeIn(line: readonly InLine[] | null, filingId: string): QueuePlace | null {
  return line && line.length <= SHORT ? (placesOf(line).get(filingId) ?? null) : null;
}

function placesOf(queued: readonly InLine[]): Map<string, QueuePlace> {
  const places = (['push', 'bulk', 'pdf'] as const).map((rateClass) =>
    queuePlaces(
      queued.filter((each) => each.rateClass === rateClass),
      RATE_LIMITS[rateClass],
    ),
  );
  return new Map(places.flatMap((each) => [...each]));
}
