import { irmIdentity, type IrmNames } from '../../domain/identity';
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

/**
 * Every transaction takes its locks in this order: the filing's IRMs in key order, then the filing, then the rest (its
 * party, rows, attempts). This rules out deadlocks between them.
 */
const IRM_LOCKS = 2;

/** IRMs share this many locks: PostgreSQL has room for a few thousand in all, and a filing may have a thousand IRMs. */
const STRIPES = 256;

/**
 * Locks the IRMs of a filing until the transaction ends, so that two filings on one balance are checked one after the
 * other. Advisory locks, because an IRM that the ledger has not read yet has no row to lock. The party is not part of
 * the key, because it may change while a filing waits.
 */
export async function lockIrms(client: Queryable, mode: Mode, irms: readonly IrmNames[]): Promise<void> {
  const keys = [...new Set(irms.map((irm) => `${mode} ${irmIdentity(irm)}`))];
  await client.query(
    `SELECT pg_advisory_xact_lock(${IRM_LOCKS}, stripe) FROM (
       SELECT DISTINCT (hashtextextended(key, 0) & ${STRIPES - 1})::int AS stripe FROM unnest($1::text[]) AS key ORDER BY 1
     ) AS ordered`,
    [keys],
  );
}
