/** Logins of the three roles: what each may do, and what none of them may. */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { tablesWithoutRights } from '../../src/ledger/diagnosis';
import { placeEvents } from '../../src/ledger/events';
import { migrate } from '../../src/ledger/migrate';
import { createPool } from '../../src/ledger/pool';
import { createVault, discard, handIn } from '../../src/ledger/vault/vault';
import { closeAfterAll } from '../support/closing';
import { ebrc } from '../support/command-line';
import { createEmptyDatabase, useTestDatabase, type TestDatabase } from '../support/postgres';
import { knowExporter, tell } from './filed';

type Role = 'ebrc_migrate' | 'ebrc_run' | 'ebrc_read';

const database = useTestDatabase();
const logins: { name: string; admin: pg.Pool }[] = [];
const pools: pg.Pool[] = [];

closeAfterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  for (const { name, admin } of logins) await admin.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
});

/** A login that is a member of the role, in a database. @returns its connection string */
async function login({ url, pool }: TestDatabase, role?: Role, connects = true): Promise<string> {
  const name = `login_${randomBytes(5).toString('hex')}`;
  await pool.query(`CREATE ROLE ${name} LOGIN PASSWORD 'roles'${role ? ` IN ROLE ${role}` : ''}`);
  if (connects) await pool.query(`GRANT CONNECT ON DATABASE ${new URL(url).pathname.slice(1)} TO ${name}`);
  logins.push({ name, admin: database.pool });
  const own = new URL(url);
  [own.username, own.password] = [name, 'roles'];
  return own.href;
}

function connect(url: string): pg.Pool {
  const pool = createPool({ url, max: 2 });
  pools.push(pool);
  return pool;
}

it('allows a worker its work, but no change of the schema or of evidence', async () => {
  const url = await login(database, 'ebrc_run');
  const pool = connect(url);
  const ledger = { ...database, pool };
  expect(await migrate(url)).toEqual([]);
  await knowExporter(ledger);
  await tell(ledger, {
    reference: 'ROLES-1',
    madeAt: new Date(),
    hours: 1,
    rows: [{ becomes: { certificate: 'EB1', archived: false } }],
  });
  const vault = createVault({ keys: [{ id: 'k', key: randomBytes(32) }] });
  await vault.publish(pool, 'test');
  const ref = await handIn(pool, { mode: 'test', workflowId: 'w', username: 'u', password: 'p' });
  expect(await discard(pool, ref)).toBe(true);
  expect([await placeEvents(pool), await tablesWithoutRights(pool)]).toEqual([expect.any(Number), []]);
  const kept = ['filings', 'filing_rows', 'attempts', 'decisions', 'certificates', 'consents', 'principal_tokens'];
  const denied = [
    ...[...kept, 'schema_migrations'].map((table) => `DELETE FROM ${table}`),
    ...["events SET type = 'x'", "audit_events SET action = 'x'"].map((change) => `UPDATE ${change}`),
    'CREATE TABLE mine (x int)',
  ];
  for (const statement of denied) await expect(pool.query(statement)).rejects.toThrow('permission denied');
  for (const statement of ['ALTER TABLE filings ADD COLUMN x int', 'DROP TABLE filings CASCADE'])
    await expect(pool.query(statement)).rejects.toThrow('must be owner');
  const { code, stdout } = await ebrc(['principals', 'add', 'mallory', '--role', 'checker', '--json'], {
    env: { DATABASE_URL: url, EBRC_MODE: 'test' },
  });
  expect([code, stdout]).toEqual([2, expect.stringContaining('no_right')]);
});

it('changes no evidence for whoever owns the ledger either', async () => {
  const { pool } = database;
  await pool.query(`INSERT INTO decisions (filing_id, kind, name) SELECT filing_id, 'not_filed', 'ravi' FROM filings`);
  await pool.query(`UPDATE decisions SET outcome = 'carried_out', outcome_at = now()`);
  for (const change of [
    "events SET text = 'x'",
    "decisions SET why = 'x'",
    "decisions SET name = 'x'",
    "consents SET given_by = 'x'",
  ]) {
    await expect(pool.query(`UPDATE ${change}`)).rejects.toThrow('append-only: it is evidence');
  }
});

it('lets no login into a migrated ledger that was not named, though its role is that of workers', async () => {
  const empty = await createEmptyDatabase();
  try {
    await migrate(empty.url);
    const stranger = await login(empty, 'ebrc_run', false);
    await expect(connect(stranger).query('SELECT 1')).rejects.toThrow(/permission denied for database/u);
    const named = await login(empty, 'ebrc_run');
    expect((await connect(named).query('SELECT count(*)::int AS n FROM filings')).rows).toEqual([{ n: 0 }]);
    // Roles that are newer than the ledger, or whose migration ended before it had given the rights.
    await empty.pool.query('REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ebrc_run');
    expect((await ebrc(['ledger', 'migrate', '--json'], { env: { DATABASE_URL: empty.url } })).json()).toEqual({
      applied: [],
    });
    expect(await tablesWithoutRights(connect(named))).toEqual([]);
    // Whoever does not own it may see that nothing is missing.
    expect((await ebrc(['ledger', 'migrate', '--json'], { env: { DATABASE_URL: named } })).code).toBe(0);
  } finally {
    await empty.drop();
  }
});

it('lets read-only commands work, and write nothing and see no stored password', async () => {
  const url = await login(database, 'ebrc_read');
  const env = { DATABASE_URL: url, EBRC_MODE: 'test', EBRC_DOCUMENTS: '/tmp' };
  for (const command of ['list', 'show ROLES-1', 'exporters', 'certificates', 'findings', 'irms exporter-1']) {
    const { code, stderr } = await ebrc([...command.split(' '), '--json'], { env });
    expect([command, code, stderr]).toEqual([command, 0, stderr]);
  }
  const pool = connect(url);
  for (const denied of [
    'SELECT * FROM vault_secrets',
    'SELECT * FROM principal_tokens',
    `UPDATE filings SET attention = 'x'`,
  ])
    await expect(pool.query(denied)).rejects.toThrow('permission denied');
});

it('reports what to do if a migration is missing and the worker may not apply it', async () => {
  const empty = await createEmptyDatabase();
  try {
    const url = await login(empty, 'ebrc_run');
    await expect(migrate(url)).rejects.toThrow(/lacks migrations \(001_ledger.*ebrc ledger migrate/s);
    // A first migration that failed leaves the library's table, which the worker may not read.
    await empty.pool.query('CREATE TABLE schema_migrations (id serial, name text, run_on timestamp)');
    await expect(migrate(url)).rejects.toThrow(/lacks migrations \(001_ledger.*ebrc ledger migrate/s);
  } finally {
    await empty.drop();
  }
});

it('migrates as the role that owns the ledger, which every other member of it then can too', async () => {
  const empty = await createEmptyDatabase();
  try {
    const url = await login(empty, 'ebrc_migrate');
    const { username } = new URL(url);
    await empty.pool.query(`ALTER ROLE ${username} SET role = 'ebrc_migrate'`);
    await empty.pool.query('GRANT CREATE ON SCHEMA public TO ebrc_migrate');
    const { code, json } = await ebrc(['ledger', 'migrate', '--json'], { env: { DATABASE_URL: url } });
    expect([code, json<{ applied: string[] }>().applied]).toEqual([0, expect.arrayContaining(['001_ledger'])]);
    const { rows } = await empty.pool.query(
      "SELECT DISTINCT tableowner AS owner FROM pg_tables WHERE schemaname = 'public'",
    );
    expect(rows).toEqual([{ owner: 'ebrc_migrate' }]);
    const worker = connect(await login(empty, 'ebrc_run'));
    expect((await worker.query('SELECT count(*)::int AS n FROM filings')).rows).toEqual([{ n: 0 }]);
    expect((await ebrc(['ledger', 'migrate', '--json'], { env: { DATABASE_URL: url } })).json()).toEqual({
      applied: [],
    });
  } finally {
    // Connections of the worker go with it; what its login was given in it has to go before the login.
    await empty.drop();
  }
});
