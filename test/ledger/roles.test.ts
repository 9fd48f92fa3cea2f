/** Logins of the roles: what each may do, and what none of them may. */
import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { tablesWithoutRights } from '../../src/ledger/diagnosis';
import { placeEvents } from '../../src/ledger/events';
import { setApprovalPolicy } from '../../src/ledger/exporters/policy';
import { openFinding } from '../../src/ledger/findings';
import { migrate } from '../../src/ledger/migrate';
import { createPool, withTransaction } from '../../src/ledger/pool';
import { addPrincipal, findPrincipal, principalOfProvider } from '../../src/ledger/principals/principals';
import { removeOldRows } from '../../src/ledger/retention';
import { createVault, discard, handIn } from '../../src/ledger/vault/vault';
import { openLedger } from '../../src/starter/connect';
import { closeAfterAll } from '../support/closing';
import { ebrc } from '../support/command-line';
import { createLogin, dropLogin, type LedgerRole } from '../support/logins';
import { createEmptyDatabase, useTestDatabase, type TestDatabase } from '../support/postgres';
import { knowExporter, tell } from './filed';

const database = useTestDatabase();
const logins: string[] = [];
const pools: pg.Pool[] = [];

closeAfterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  for (const name of logins) await dropLogin(database, name);
});

/** A login that is a member of the role, in a database. @returns its connection string */
async function login(of: TestDatabase, role?: LedgerRole, connects = true): Promise<string> {
  const { url, name } = await createLogin(of, role, { connects });
  logins.push(name);
  return url;
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
  const denied = [
    ...KEPT.map((table) => `DELETE FROM ${table}`),
    ...KEPT.map((table) => `TRUNCATE ${table}`),
    "INSERT INTO principals (mode, name, name_key, roles) VALUES ('test', 'm', 'm', '{admin}')",
    "SELECT person_of_provider('test', 'https://id.example', 'm', 'm', 'm', '{admin}')",
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

/** What proves something, or says who may what. */
const KEPT = [
  ...['filings', 'filing_rows', 'filing_inputs', 'attempts', 'decisions', 'events', 'readings', 'certificates'],
  ...[
    'certificate_changes',
    'findings',
    'reconciliation_runs',
    'api_calls',
    'irms',
    'irm_changes',
    'exporters',
    'consents',
  ],
  ...[
    'credential_versions',
    'policy_changes',
    'audit_events',
    'principals',
    'principal_tokens',
    'ledger',
    'schema_migrations',
  ],
];

describe('the login of the HTTP API', () => {
  let pool: pg.Pool;
  let filingId: string;
  beforeAll(async () => {
    const url = await login(database, 'ebrc_serve');
    // As the program opens it.
    await (await openLedger(url, { waitMs: 0, onWait: () => undefined })).end();
    pool = connect(url);
    const rows = [{ sbCumInvoiceNumber: '7654321' }];
    filingId = await tell(database, { reference: 'ROLES-2', madeAt: new Date(), rows });
  });

  it('deletes nothing, opens no password, and makes no filing, certificate or principal', async () => {
    const denied = [
      ...[...KEPT, 'vault_secrets', 'vault_keys'].map((table) => `DELETE FROM ${table}`),
      ...[...KEPT, 'vault_secrets', 'vault_keys'].map((table) => `TRUNCATE ${table}`),
      ...[
        'filings',
        'filing_rows',
        'attempts',
        'readings',
        'certificates',
        'irms',
        'exporters',
        'findings',
        'consents',
      ].map((table) => `INSERT INTO ${table} DEFAULT VALUES`),
      ...['principals', 'principal_tokens', 'credential_versions', 'vault_keys', 'ledger', 'schema_migrations'].map(
        (table) => `INSERT INTO ${table} DEFAULT VALUES`,
      ),
      'SELECT * FROM vault_secrets',
      ...[
        ...['filing_inputs SET rows = rows', "filing_inputs SET made_by = 'x'", "filings SET content_hash = 'x'"],
        ...["filings SET made_by = 'x'", 'filings SET maker_id = NULL', 'filings SET approval = NULL'],
        ...["filing_rows SET mapping = '{}'", "attempts SET answer = '{}'", "attempts SET payload_hash = 'x'"],
        ...[
          "certificates SET detail = '{}'",
          'exporters SET iec = NULL',
          "decisions SET name = 'x'",
          "events SET text = 'x'",
        ],
        ...[
          "audit_events SET principal = 'x'",
          "policy_changes SET changed_by = 'x'",
          "principals SET roles = '{admin}'",
        ],
        ...[
          "vault_keys SET key_id = 'x'",
          "ledger SET epoch = 'x'",
          'readings SET whole = true',
          "findings SET kind = 'x'",
        ],
      ].map((change) => `UPDATE ${change}`),
      'SELECT * FROM remove_old_rows(1)',
      'CREATE TABLE mine (x int)',
    ];
    for (const statement of denied)
      await expect(pool.query(statement).then(() => statement)).rejects.toThrow(/permission denied/u);
  });

  it('changes a filing only in the transaction of a decision that it adds', async () => {
    const changes = [
      "UPDATE filings SET state = 'certified', approved_at = now() WHERE filing_id = $1",
      "UPDATE filing_rows SET state = 'released' WHERE filing_id = $1",
      "UPDATE attempts SET verdict = 'not_filed' WHERE filing_id = $1",
    ];
    const add = "INSERT INTO decisions (filing_id, kind, name) VALUES ($1, 'abandon', 'mallory')";
    await pool.query(add, [filingId]);
    for (const change of changes) {
      // What somebody decided before is none of its own, though it may write what came of it.
      await expect(
        withTransaction(pool, async (client) => {
          await client.query("UPDATE decisions SET why = 'x' WHERE filing_id = $1", [filingId]);
          await client.query(change, [filingId]);
        }),
      ).rejects.toThrow('only with a decision about it');
      const undone = withTransaction(pool, async (client) => {
        await client.query(add, [filingId]);
        await client.query(change, [filingId]);
        throw new Error('changed');
      });
      await expect(undone).rejects.toThrow('changed');
    }
  });

  it('closes no finding that keeps the ledger from sending', async () => {
    await openFinding(database.pool, { mode: 'test', iec: null, kind: 'ledger_went_back', subject: 'x', filingId });
    const closing = withTransaction(pool, async (client) => {
      await client.query("INSERT INTO decisions (filing_id, kind, name) VALUES ($1, 'abandon', 'm')", [filingId]);
      await client.query('UPDATE findings SET closed_at = now()');
    });
    await expect(closing).rejects.toThrow('append-only');
    await expect(pool.query('UPDATE findings SET acknowledged_at = now()')).rejects.toThrow(
      'violates check constraint',
    );
  });

  it('makes persons of an identity provider, and changes no other principal', async () => {
    const principal = { mode: 'test', isSystem: false, exporters: null, expiresAt: null } as const;
    const asha = await addPrincipal(database.pool, { ...principal, name: 'asha', roles: ['viewer'] });
    const person = { issuer: 'https://id.example', subject: 'u-1', roles: ['admin'] } as const;
    expect(await principalOfProvider(pool, 'test', { ...person, names: ['Asha'] })).toBeNull();
    const made = await principalOfProvider(pool, 'test', { ...person, names: ['Asha', 'Asha 2'] });
    expect(made).toMatchObject({ name: 'Asha 2', roles: ['admin'], isSystem: false });
    const others = [
      { ...person, issuer: 'https://other.example' },
      { ...person, subject: 'u-2' },
    ];
    for (const [nth, other] of others.entries())
      expect((await principalOfProvider(pool, 'test', { ...other, names: [`Other ${nth}`] }))?.principalId).not.toBe(
        made?.principalId,
      );
    for (const [issuer, subject] of [
      [null, null],
      ['x', null],
    ])
      expect(
        (
          await pool.query("SELECT person_of_provider('test', $1, $2, 'asha', 'asha', '{admin}') AS id", [
            issuer,
            subject,
          ])
        ).rows,
      ).toEqual([{ id: null }]);
    expect(await findPrincipal(database.pool, 'test', 'asha')).toEqual(asha);
  });

  it('hands in a password, and takes back only one whose reference it knows', async () => {
    const vault = createVault({ keys: [{ id: 'k', key: randomBytes(32) }] });
    await vault.publish(database.pool, 'test');
    const ref = await handIn(pool, { mode: 'test', workflowId: 'w', username: 'u', password: 'p' });
    expect([await discard(pool, randomUUID()), await discard(pool, ref), await discard(pool, ref)]).toEqual([
      false,
      true,
      false,
    ]);
  });
});

it.each(['ebrc_run', 'ebrc_serve', undefined] as const)('changes a policy only with its record (%s)', async (role) => {
  const pool = role ? connect(await login(database, role)) : database.pool;
  const set = (to: boolean) => `UPDATE exporters SET requires_approval = ${to}`;
  const { rows } = await pool.query<{ on: boolean }>('SELECT requires_approval AS on FROM exporters');
  const on = rows[0]?.on ?? false;
  await expect(pool.query(set(!on))).rejects.toThrow('only with a record in policy_changes');
  if (role === 'ebrc_run') {
    // The record of a temporary table is none.
    const shadowed = withTransaction(pool, async (client) => {
      await client.query('CREATE TEMP TABLE policy_changes AS SELECT * FROM policy_changes');
      await client.query(
        `INSERT INTO policy_changes (exporter_id, approval, asked) VALUES ('exporter-1', 'required', false)`,
      );
      await client.query(set(!on));
    });
    await expect(shadowed).rejects.toThrow('only with a record in policy_changes');
  }
  const off = `INSERT INTO policy_changes (exporter_id, approval, changed_by) SELECT exporter_id, 'off', 'm' FROM exporters`;
  await expect(database.pool.query(off)).rejects.toThrow('off_takes_two');
  const policy = { exporterId: 'exporter-1', approval: 'required' as const, by: 'asha' };
  expect(['changed', 'unchanged']).toContain(
    await withTransaction(pool, (client) => setApprovalPolicy(client, policy)),
  );
  await expect(pool.query(set(false))).rejects.toThrow('only with a record in policy_changes');
});

it('removes what is old for a worker, and nothing that is younger', async () => {
  const pool = connect(await login(database, 'ebrc_run'));
  await database.pool.query(
    `INSERT INTO api_calls (mode, at, operation, latency_ms) SELECT 'test', now() - days * interval '1 day', 'x', 1
       FROM unnest('{1,200}'::int[]) AS days`,
  );
  expect(await removeOldRows(pool)).toMatchObject({ calls: 1 });
});

it('changes no evidence for whoever owns the ledger either', async () => {
  const { pool } = database;
  await pool.query(`INSERT INTO decisions (filing_id, kind, name) SELECT filing_id, 'not_filed', 'ravi' FROM filings`);
  await pool.query(`UPDATE decisions SET outcome = 'carried_out', outcome_at = now()`);
  await pool.query(`UPDATE attempts SET answer = '{"status": 200}', answer_status = 200, answered_at = now()`);
  for (const change of [
    "events SET text = 'x'",
    "decisions SET why = 'x'",
    "decisions SET name = 'x'",
    "consents SET given_by = 'x'",
    "attempts SET answer = '{}'",
    "filing_inputs SET rows = '[]'",
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
    // A temporary table may stand before one of the ledger: only workers make them, for comparisons.
    const temporary = 'CREATE TEMP TABLE decisions (x int)';
    await connect(named).query(temporary);
    for (const role of ['ebrc_serve', 'ebrc_read'] as const)
      await expect(connect(await login(empty, role)).query(temporary)).rejects.toThrow('permission denied');
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
