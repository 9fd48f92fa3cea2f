import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDocumentStore, type DocumentStore } from '../../../src/documents/document-store';
import { withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase, type TestDatabase } from '../../support/postgres';
import { knowExporter } from '../filing-support';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/** A document store in a folder of its own, which is gone at the end of the test file. */
export async function newStore(): Promise<DocumentStore & { root: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-sends-'));
  folders.push(folder);
  const root = join(folder, 'documents');
  const store = createDocumentStore({ root });
  await store.storeId();
  return Object.assign(store, { root });
}

interface Table {
  name: string;
  /** Generated columns follow from the others, and cannot be written. */
  columns: string;
}

/** Remembers the ledger as it is. @returns what puts it back to that, as a restored volume or a lagging replica does */
export async function remember({ pool }: TestDatabase): Promise<() => Promise<void>> {
  const { rows: tables } = await pool.query<Table>(
    `SELECT relname AS name, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
       FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
      WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      GROUP BY relname`,
  );
  const names = tables.map(({ name }) => name);
  const { rows } = await pool.query<{ name: string; kept: string | null }>(
    names
      .map((name) => `SELECT '${name}' AS name, jsonb_agg(to_jsonb(t))::text AS kept FROM ${name} AS t`)
      .join(' UNION ALL '),
  );
  const kept = new Map(rows.map((row) => [row.name, row.kept]));
  return () =>
    withTransaction(pool, async (client) => {
      // Without triggers, which refuse to remove evidence. TRUNCATE is sixty times as much work for small tables.
      await client.query(
        [
          'SET LOCAL session_replication_role = replica',
          `LOCK TABLE ${names.join(', ')}`,
          ...names.map((name) => `DELETE FROM ${name}`),
        ].join(';'),
      );
      for (const { name, columns } of tables)
        if (kept.get(name))
          await client.query(
            `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
             SELECT ${columns} FROM jsonb_populate_recordset(NULL::${name}, $1::jsonb)`,
            [kept.get(name)],
          );
    });
}

/** One ledger that knows an exporter for a whole test file; every test begins with it as it was at first. */
export function useLedgerPutBack(): TestDatabase {
  const ledger = useTestDatabase(knowExporter);
  let putBack: () => Promise<void>;
  beforeAll(async () => {
    putBack = await remember(ledger);
  });
  beforeEach(() => putBack());
  return ledger;
}

/** What the process of every sender lives by. */
export const SETTINGS = { settleMs: 4 * 60 * 60_000, timeoutMs: 60_000 };

export const sender = (): string => randomUUID();
