import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../../src/ledger/migrate';
import { startEmbeddedPostgres } from '../../../dev/postgres';
import { leftOpen, OPEN_FOLDER_VARIABLE } from './left-open';
import { ADMIN_URL_VARIABLE, TEMPLATE_VARIABLE, withDatabase } from './test-postgres';

declare global {
  var stopTestPostgres: (() => Promise<void>) | undefined;
  var whatTestsLeftOpen: (() => string[]) | undefined;
}

/**
 * One PostgreSQL for the whole run: the server of DATABASE_URL where that is set, an embedded one otherwise. A template
 * database is migrated once; each test clones it.
 */
export default async function globalSetup(): Promise<void> {
  const given = process.env['DATABASE_URL'];
  const server = given
    ? null
    : await startEmbeddedPostgres({ folder: await mkdtemp(join(await fastFolder(), 'ebrc-test-')), temporary: true });
  const adminUrl = given ?? server?.urlOf('postgres') ?? '';
  const template = `ebrc_template_${randomBytes(6).toString('hex')}`;
  const run = async (sql: string) => {
    const client = new pg.Client({ connectionString: adminUrl });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  globalThis.stopTestPostgres = async () => {
    // A server of somebody else's keeps nothing of ours; the embedded one is thrown away whole.
    if (server) await server.stop();
    else await run(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
  };
  try {
    await run(`CREATE DATABASE ${template}`);
    await makeClockAdjustable(withDatabase(adminUrl, template));
    await migrate(withDatabase(adminUrl, template));
  } catch (error) {
    await globalThis.stopTestPostgres();
    throw error;
  }
  const open = await mkdtemp(join(tmpdir(), 'ebrc-test-open-'));
  globalThis.whatTestsLeftOpen = () => {
    const left = leftOpen(open);
    rmSync(open, { recursive: true });
    return left;
  };
  process.env[OPEN_FOLDER_VARIABLE] = open;
  process.env[ADMIN_URL_VARIABLE] = adminUrl;
  process.env[TEMPLATE_VARIABLE] = template;
}

/**
 * The ledger decides by PostgreSQL's clock alone. Tests let hours pass on it: this function stands before PostgreSQL's
 * own, and adds what a connection is told to add (test/support/postgres.ts).
 */
async function makeClockAdjustable(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client
    .query(
      `CREATE SCHEMA test_clock;
       CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
         SELECT pg_catalog.clock_timestamp() + coalesce(nullif(current_setting('test.offset_ms', true), ''), '0')::float8 * interval '1 ms' $$;
       DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, test_clock, pg_catalog', current_database()); END $$`,
    )
    .finally(() => client.end());
}

/**
 * Where the embedded server's data goes: in memory where there is room, as most of the work of a database of a few
 * hundred small files is the file system's.
 */
async function fastFolder(): Promise<string> {
  const memory = '/dev/shm';
  const room = await statfs(memory).catch(() => null);
  return room && room.bavail * room.bsize > 4 * 1024 ** 3 ? memory : tmpdir();
}
