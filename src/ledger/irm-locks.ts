import type { MappingRow } from '../domain/mapping';
import type { Queryable } from './pool';

/**
 * Locks the IRMs of a filing until the transaction ends, always in the same order, so that two filings on one balance are
 * checked one after the other and never wait for each other in a ring. Advisory locks, because an IRM that the ledger has
 * not read yet has no row to lock; the date is left out, because callers may name an IRM by either of its dates.
 */
export async function lockIrms(client: Queryable, exporterId: string, rows: readonly MappingRow[]): Promise<void> {
  const keys = rows.map(({ mapping }) =>
    [exporterId, mapping.irmNumber, mapping.irmAdCode, mapping.irmIfscCode]
      .map((part) => part.trim().toUpperCase())
      .join('|'),
  );
  await client.query(
    `SELECT pg_advisory_xact_lock(k) FROM (
       SELECT DISTINCT hashtextextended(key, 2) AS k FROM unnest($1::text[]) AS key ORDER BY 1
     ) AS ordered`,
    [[...new Set(keys)]],
  );
}
