/**
 * The ledger's schema as it is after every migration, kept in docs/ledger-schema.txt: a change of a migration shows in
 * a review as what it does to the tables. `UPDATE_DOCS=1 npx jest test/ledger/schema` writes it anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/ledger/migrate';
import type { Queryable } from '../../src/ledger/pool';
import { useFolder } from '../support/folder';
import { createEmptyDatabase, useTestDatabase, type TestDatabase } from '../support/postgres';

const FILE = join(__dirname, '../../docs/ledger-schema.txt');

const ledger = useTestDatabase();

it('is the one that docs/ledger-schema.txt shows', async () => {
  const schema = await describeSchema(ledger.pool);
  if (process.env['UPDATE_DOCS']) writeFileSync(FILE, schema);
  expect(schema).toBe(readFileSync(FILE, 'utf8'));
});

/** Tables with columns, constraints and indexes, in the order of their names. */
async function describeSchema(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ table: string; part: number; line: string }>(`
    WITH tables AS (
      SELECT c.oid, c.relname AS "table" FROM pg_class c
       WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
         AND c.relname <> 'schema_migrations'
    )
    SELECT t."table", 1 AS part, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
           || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
           || coalesce(' ' || CASE a.attgenerated WHEN '' THEN 'default ' ELSE 'generated ' END
           || pg_get_expr(d.adbin, d.adrelid), '') AS line
      FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
    UNION ALL
    SELECT t."table", 2, pg_get_constraintdef(k.oid) FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid
     WHERE k.contype <> 'n'
    UNION ALL
    SELECT t."table", 3, regexp_replace(pg_get_indexdef(i.indexrelid), ' ON \\S+ USING', ' USING')
      FROM tables t JOIN pg_index i ON i.indrelid = t.oid WHERE NOT i.indisprimary
    ORDER BY 1, 2, 3`);
  const names = [...new Set(rows.map(({ table }) => table))];
  const sections = names.map((name) => {
    const parts = [1, 2, 3].map((part) => rows.filter((row) => row.table === name && row.part === part));
    const lines = parts.filter((part) => part.length > 0).map((part) => part.map(({ line }) => `  ${line}`).join('\n'));
    return `${name}\n${lines.join('\n\n')}\n`;
  });
  return sections.join('\n');
}

describe('migrations', () => {
  let empty: TestDatabase;
  let folder: string;
  useFolder((made) => (folder = made));
  beforeEach(async () => {
    empty = await createEmptyDatabase();
  });
  afterEach(() => empty.drop());
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.sql`), text);
  const apply = () => migrate(empty.url, { folder });

  it('are each applied once, although twenty workers start together', async () => {
    write('001_first', 'CREATE TABLE first (n integer); INSERT INTO first VALUES (1);');
    write('002_second', 'SELECT pg_sleep(0.1); INSERT INTO first VALUES (2);');
    const applied = await Promise.all(Array.from({ length: 20 }, apply));
    expect(applied.flat()).toEqual(['001_first', '002_second']);
    expect(await empty.select('SELECT n FROM first ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('of which one fails are applied not at all, and tried again by the next start', async () => {
    for (const name of ['001_first', '002_broken']) write(name, 'CREATE TABLE first (n integer);');
    await expect(apply()).rejects.toThrow(/already exists/);
    expect(await empty.select(`SELECT to_regclass('first') AS found`)).toEqual([{ found: null }]);
    write('002_broken', 'CREATE TABLE second (n integer);');
    await expect(apply()).resolves.toEqual(['001_first', '002_broken']);
  });

  it('are refused where one was slipped in before one that ran', async () => {
    write('002_second', 'CREATE TABLE second (n integer);');
    await apply();
    write('001_first', 'CREATE TABLE first (n integer);');
    await expect(apply()).rejects.toThrow(/001_first is preceding already run migration 002_second/);
  });

  it('leave nothing to do afterwards, and are refused of a ledger that applied another text', async () => {
    await expect(migrate(ledger.pool)).resolves.toEqual([]);
    await ledger.pool.query("UPDATE schema_migrations SET sha256 = 'another' WHERE name = '001_ledger'");
    await expect(migrate(ledger.pool)).rejects.toThrow(/edited after this ledger had applied them: 001_ledger\. Use/);
    await ledger.pool.query('ALTER TABLE schema_migrations DROP COLUMN sha256');
    await expect(migrate(ledger.pool)).resolves.toEqual([]);
  });
});
