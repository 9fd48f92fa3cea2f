/**
 * The ledger's schema as it is after every migration, kept in docs/ledger-schema.txt: a change of a migration shows in
 * a review as what it does to the tables. `UPDATE_DOCS=1 npx jest test/ledger/schema` writes it anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Queryable } from '../../src/ledger/pool';
import { useTestDatabase } from '../support/postgres';

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
