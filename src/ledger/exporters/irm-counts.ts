import type { Queryable } from '../pool';

/** How many IRMs the ledger has of each of these exporters; one without any is left out. */
export async function countIrms(db: Queryable, exporterIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ exporterId: string; count: number }>(
    'SELECT exporter_id AS "exporterId", count(*)::int AS count FROM irms WHERE exporter_id = ANY($1) GROUP BY exporter_id',
    [exporterIds],
  );
  return new Map(rows.map(({ exporterId, count }) => [exporterId, count]));
}
