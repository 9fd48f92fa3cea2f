import type pg from 'pg';
import { createPool } from '../ledger/pool';
import { LedgerUnavailableError } from '../ledger/unavailable';
import { UnreachableError } from './errors';

/**
 * A pool on the ledger; one that has no tables yet gets them, so that the command line works before the first worker ran.
 * @throws UnreachableError that names the address, without user and password
 */
export async function openLedger(databaseUrl: string): Promise<pg.Pool> {
  const pool = createPool({ url: databaseUrl, applicationName: 'ebrc-cli', max: 4 });
  try {
    const { rows } = await pool.query<{ empty: boolean }>("SELECT to_regclass('schema_migrations') IS NULL AS empty");
    if (rows[0]?.empty) await (await import('../ledger/migrate.js')).migrate(pool);
    return pool;
  } catch (error) {
    await pool.end();
    throw error instanceof LedgerUnavailableError
      ? new UnreachableError('PostgreSQL', addressOf(databaseUrl), error.cause)
      : error;
  }
}

function addressOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `${hostname}:${port || '5432'}${pathname}`;
}
