/** Events of a filing that are no moves. */
import type { Queryable } from '../pool';

/** Adds an event to a filing that is no move; with a `step` it is written once. */
export async function addEvent(
  db: Queryable,
  event: {
    filingId: string;
    step?: string;
    at: Date;
    kind: string;
    text: string;
    who?: string;
    data?: unknown;
  },
): Promise<void> {
  const { filingId, step, at, kind, text, who, data } = event;
  await db.query(
    `INSERT INTO filing_events (filing_id, step, at, kind, who, text, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT DO NOTHING`,
    [filingId, step, at, kind, who, text, JSON.stringify(data)],
  );
}

export async function countEvents(db: Queryable, filingId: string, kinds: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM filing_events WHERE filing_id = $1 AND kind = ANY($2)',
    [filingId, kinds],
  );
  return rows[0]?.n ?? 0;
}
