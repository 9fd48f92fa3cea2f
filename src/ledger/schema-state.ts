import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Queryable } from './pool';

/** `migrations/` of the package, from `src/ledger` and from `dist/ledger` alike. */
export const MIGRATIONS = join(__dirname, '..', '..', 'migrations');

export interface SchemaState {
  /** Migrations that the ledger has, in order. */
  applied: string[];
  /** Migrations of this version that the ledger lacks, in order. */
  missing: string[];
  /** Migrations of the ledger that this version does not know: it is older than the ledger. */
  unknown: string[];
}

/**
 * Which migrations the ledger has, read without the migration library: every command of the command line loads this.
 */
export async function readSchemaState(db: Queryable): Promise<SchemaState> {
  const known = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).map((name) => name.slice(0, -4));
  const { rows: tables } = await db.query<{ there: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS there",
  );
  if (!tables[0]?.there) return { applied: [], missing: known.sort(), unknown: [] };
  const { rows } = await db.query<{ name: string }>('SELECT name FROM schema_migrations ORDER BY name');
  const applied = rows.map(({ name }) => name);
  return {
    applied,
    missing: known.filter((name) => !applied.includes(name)).sort(),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}
