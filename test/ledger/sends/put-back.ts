import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDocumentStore, type DocumentStore } from '../../../src/documents/document-store';
import { withTransaction, type Queryable } from '../../../src/ledger/pool';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { knowExporter } from '../filing-support';

/** Tables in an order in which they can be filled. */
const TABLES = [
  'ledger_identity',
  'exporters',
  'filing_inputs',
  'filings',
  'releases',
  'filing_rows',
  'held_mappings',
  'submissions',
  'attempts',
  'requests',
  'sends',
  'words',
  'word_judgements',
  'certificates',
  'irms',
] as const;

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

/** Remembers the ledger as it is. @returns what puts it back to that, as a restored volume or a lagging replica does */
export async function remember({ pool }: TestDatabase): Promise<() => Promise<void>> {
  const kept = new Map<string, string>();
  for (const table of TABLES) {
    const { rows } = await pool.query<{ all: string }>(
      `SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]')::text AS all FROM ${table} AS t`,
    );
    kept.set(table, rows[0]?.all ?? '[]');
  }
  return () =>
    withTransaction(pool, async (client) => {
      await client.query(`TRUNCATE ${TABLES.join(', ')} CASCADE`);
      for (const table of TABLES) {
        const columns = await writtenColumns(client, table);
        await client.query(
          `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
           SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
          [kept.get(table)],
        );
      }
    });
}

/** The columns of a table that are written: generated ones follow from them. */
async function writtenColumns(client: Queryable, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? '';
}

/** One ledger that knows an exporter for a whole test file; every test begins with it as it was at first. */
export function useLedgerPutBack(opened: (ledger: TestDatabase) => void): void {
  let ledger: TestDatabase | undefined;
  let putBack: () => Promise<void>;
  beforeAll(async () => {
    ledger = await createTestDatabase();
    await knowExporter(ledger);
    putBack = await remember(ledger);
    opened(ledger);
  });
  afterAll(() => ledger?.drop());
  beforeEach(() => putBack());
}

/** What the process of every sender lives by. */
export const SETTINGS = { settleMs: 4 * 60 * 60_000, timeoutMs: 60_000 };

export const sender = (): string => randomUUID();
