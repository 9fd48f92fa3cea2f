import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createPool } from '../../src/ledger/pool';
import { closeAfterAll } from './closing';
import { noteOpen } from './jest/left-open';
import { ADMIN_URL_VARIABLE, TEMPLATE_VARIABLE, withDatabase } from './jest/test-postgres';

export interface TestDatabase {
  url: string;
  /** Adds this many ms to PostgreSQL's clock on every connection of `pool` from now on. */
  setClock(offsetMs: number): void;
  /** A pool on it, created like the worker's; ended by `drop`. */
  pool: pg.Pool;
  /** The rows of a statement with these parameters. */
  select(statement: string, ...values: unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** A fresh database with all migrations applied, on the real PostgreSQL of this test run. Call `drop` in `afterAll`. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { adminUrl, template } = testServer();
  const name = `ebrc_test_${randomBytes(8).toString('hex')}`;
  await runAsAdmin(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  await runAsAdmin(adminUrl, `ALTER DATABASE ${name} SET search_path = public, test_clock, pg_catalog`);
  return openDatabase(adminUrl, name);
}

/** One database for a whole test file; `prepare` fills it before the first test. */
export function useTestDatabase(prepare?: (database: TestDatabase) => Promise<unknown>): TestDatabase {
  const database = {} as TestDatabase;
  beforeAll(async () => {
    Object.assign(database, await createTestDatabase());
    await prepare?.(database);
  });
  closeAfterAll(() => database.drop?.());
  return database;
}

/** A fresh database with nothing in it, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const { adminUrl } = testServer();
  const name = `ebrc_test_${randomBytes(8).toString('hex')}`;
  await runAsAdmin(adminUrl, `CREATE DATABASE ${name}`);
  return openDatabase(adminUrl, name);
}

function openDatabase(adminUrl: string, name: string): TestDatabase {
  const url = withDatabase(adminUrl, name);
  const pool = createPool({ url, applicationName: 'ebrc-test' });
  let offsetMs = 0;
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  pool.connect = (async () => {
    const client = await connect();
    if (offsetMs !== 0) await client.query(`SELECT set_config('test.offset_ms', $1, false)`, [String(offsetMs)]);
    return client;
  }) as pg.Pool['connect'];
  const closed = noteOpen('a database and its pool');
  const drop = async () => {
    await pool.end();
    // Forced, because a test may leave connections, and its database must be dropped all the same.
    await runAsAdmin(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    closed();
  };
  const select: TestDatabase['select'] = async (statement, ...values) =>
    (await pool.query(statement, values)).rows as never;
  return { url, pool, select, drop, setClock: (ms) => void (offsetMs = ms) };
}

function testServer() {
  const adminUrl = process.env[ADMIN_URL_VARIABLE];
  const template = process.env[TEMPLATE_VARIABLE];
  if (!adminUrl || !template)
    throw new Error('No test database server: run tests through jest, whose global set-up starts one.');
  return { adminUrl, template };
}

async function runAsAdmin(adminUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Every row of every table, below the table's name; bytes as hex. */
export async function everyRow(pool: pg.Pool): Promise<string> {
  const tables = await pool.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const parts: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
    parts.push(name, ...rows.map(({ row }) => row));
  }
  return parts.join('\n');
}
