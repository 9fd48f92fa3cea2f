import type { EventView } from '../../domain/filing/view';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import type { Scope } from './rows';

/** The story of a filing, or of a whole reference, oldest first. `after`: the `next` of the page before. */
export async function eventsPage(
  db: Queryable,
  { mode, reference, n, after = '0', limit }: Scope & { after?: string; limit: number },
): Promise<{ items: EventView[]; next: string | null }> {
  const { rows } = await db.query<EventView & { ordinal: string }>(
    `SELECT e.ordinal::text AS ordinal, e.event_id AS id, e.filing_id AS "filingId", f.n, ${ISO('e.at')} AS at, e.kind, e.state, e.who, e.text
       FROM filings f JOIN events e ON e.filing_id = f.filing_id
      WHERE f.mode = $1 AND f.reference = $2 AND ($3::int IS NULL OR f.n = $3) AND e.kind IS NOT NULL AND e.ordinal > $4
      ORDER BY e.ordinal LIMIT $5`,
    [mode, reference, n, after, limit + 1],
  );
  const page = rows.slice(0, limit);
  const items = page.map(({ ordinal: _, ...event }) => event);
  return { items, next: rows.length > limit ? (page.at(-1)?.ordinal ?? null) : null };
}
