import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Queryable } from './pool';

/** `migrations/` of the package; the path is the same from `src/ledger` and from `dist/ledger`. */
export const MIGRATIONS = join(__dirname, '..', '..', 'migrations');

/** Reads which migrations the ledger has, without the migration library, because every command loads this. */
export async function readSchemaState(db: Queryable): Promise<{
  applied: string[];
  /** Migrations of this version that the ledger lacks, in order. */
  missing: string[];
  /** Migrations of the ledger that this version does not know, because it is older. */
  unknown: string[];
  /** Migrations whose file was edited after the ledger applied it, in order, so that the schemas differ. */
  changed: string[];
}> {
  const hashes = await migrationHashes();
  const names = [...hashes.keys()];
  // The first migration grants the right to read the table, so without the right no migration was applied.
  const { rows: tables } = await db.query<{ readable: boolean | null }>(
    "SELECT has_table_privilege(to_regclass('schema_migrations')::oid, 'SELECT') AS readable",
  );
  if (!tables[0]?.readable) return { applied: [], missing: names, unknown: [], changed: [] };
  // Read as JSON, because the column is missing in a ledger that an older version migrated.
  const { rows } = await db.query<{ name: string; sha256: string | null }>(
    "SELECT name, to_jsonb(m)->>'sha256' AS sha256 FROM schema_migrations m ORDER BY name",
  );
  const applied = rows.map(({ name }) => name);
  return {
    applied,
    missing: names.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !hashes.has(name)),
    changed: rows
      .filter(({ name, sha256 }) => sha256 !== null && hashes.has(name) && sha256 !== hashes.get(name))
      .map(({ name }) => name),
  };
}

/** Records the hashes of migrations that have just been applied, so that later edits of their files are noticed. */
export async function recordMigrationHashes(db: Queryable, applied: readonly string[]): Promise<void> {
  const hashes = await migrationHashes();
  await db.query('ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS sha256 text');
  await db.query(
    `UPDATE schema_migrations m SET sha256 = h.sha256
       FROM unnest($1::text[], $2::text[]) AS h (name, sha256) WHERE m.name = h.name`,
    [applied, applied.map((name) => hashes.get(name) ?? null)],
  );
}

/** What is wrong with migrations that were edited after they were applied, and what to do. */
export function changedMigrations(changed: readonly string[]): { message: string; advice: string } {
  return {
    message: `migrations were edited after this ledger had applied them: ${changed.join(', ')}`,
    advice:
      'Use the version of the program that migrated this ledger. If its data is not needed, create an empty database instead.',
  };
}

/** SHA-256 of each migration of the package by name, in order, with normalized line ends. */
async function migrationHashes(): Promise<Map<string, string>> {
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  const hashed = files.map(async (file): Promise<[string, string]> => {
    const text = await readFile(join(MIGRATIONS, file), 'utf8');
    return [file.slice(0, -4), createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex')];
  });
  return new Map(await Promise.all(hashed));
}
