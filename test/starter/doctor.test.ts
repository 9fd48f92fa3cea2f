/** A healthy installation, and broken ones: each by the check that names it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { filingForRun, noteRunProblem } from '../../src/ledger/runs';
import { doubtLedger, readLedgerTime } from '../../src/ledger/time';
import { createVault, discard, handIn } from '../../src/ledger/vault/vault';
import type { CheckResult } from '../../src/starter/doctor/doctor';
import { clockResult } from '../../src/starter/doctor/finding';
import { json, startService } from '../api/support/service';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';
import { closeAfterAll } from '../support/closing';
import { createEmptyDatabase, useTestDatabase } from '../support/postgres';
import { recordFilingByHand } from '../support/recorded-filing';
import { useSandbox } from '../support/sandbox';
import { useDevServer } from '../support/temporal';
import { startTestWorker, type TestWorker } from '../support/worker';

const database = useTestDatabase();
const server = useDevServer();
const sandbox = useSandbox();
let worker: TestWorker;
closeAfterAll(() => worker?.close());
const folder = testFolder();
let env: Record<string, string>;

beforeAll(async () => {
  worker = await startTestWorker({ env: await server.environment(), sandbox, ledger: database });
  env = {
    EBRC_API_URL: sandbox.url,
    EBRC_API_KEY: 'dev_sandbox_key',
    EBRC_ENCRYPTION_KEY: `here:${randomBytes(32).toString('base64')}`,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: server.address,
    EBRC_TASK_QUEUE: worker.taskQueue,
    EBRC_DOCUMENTS: join(folder, 'documents'),
  };
  expect((await ebrc(['schedules', 'apply', '--json'], { env })).code).toBe(0);
  await database.pool.query('DELETE FROM vault_keys');
});

async function wrongOnes(
  more: Record<string, string>,
  options: { connectWithinMs?: number } = {},
): Promise<CheckResult[]> {
  const { code, json, stdout, stderr } = await ebrc(['doctor', '--json'], {
    env: { ...env, ...more },
    ...options,
    // Nothing listens there.
    ...(more['TEMPORAL_ADDRESS'] === '127.0.0.1:9' && { connectWithinMs: 300 }),
  });
  expect(code).toBe(1);
  expect(stdout + stderr).not.toContain('hunter2');
  return json<CheckResult[]>().filter(({ ok }) => !ok);
}

/** As {@link wrongOnes}, for checks other than Temporal's: without a Temporal server, whose checks take the longest. */
async function wrongBesidesTemporal(more: Record<string, string>): Promise<CheckResult[]> {
  const wrong = await wrongOnes({ ...more, TEMPORAL_ADDRESS: '127.0.0.1:9' });
  return wrong.filter(({ check }) => check !== 'temporal');
}

it('finds a healthy installation healthy', async () => {
  const { code, json } = await ebrc(['doctor', '--json'], { env });
  const results = json<CheckResult[]>();
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  expect(code).toBe(0);
  expect(results.map(({ check }) => check)).toEqual([
    'configuration',
    'encryption key',
    'payloads',
    'postgresql',
    'clock of postgresql',
    'schema',
    'rights',
    'ledger',
    'runs',
    'vault keys',
    'temporal',
    'search attributes',
    'workers',
    'schedules',
    'documents',
    'service',
    'clock of the service',
    'quota',
    'contract',
  ]);
  const { stdout } = await ebrc(['doctor'], { env });
  expect(stdout).toMatch(/workers\tok/);
  expect(stdout).toMatch(/payloads\tok\tresults are encrypted; plain text is taken/);
});

it.each([
  ['11', true, null],
  ['10', true, /EBRC_QUOTA_EXPORTERS/u],
  ['7', false, /EBRC_QUOTA_EXPORTERS/u],
])('compares 8 live exporters with the %s of the contract', async (included, ok, advice) => {
  await database.pool.query(
    `INSERT INTO exporters (exporter_id, mode, name, email, state)
     SELECT 'live-' || n, 'live', 'N', n || '@example.test', 'ready' FROM generate_series(1, 8) n ON CONFLICT DO NOTHING`,
  );
  const { json } = await ebrc(['doctor', '--json'], {
    env: { ...env, EBRC_API_KEY: 'prod_key', EBRC_QUOTA_EXPORTERS: included, TEMPORAL_ADDRESS: '127.0.0.1:9' },
    connectWithinMs: 300,
  });
  expect(json<CheckResult[]>().find(({ check }) => check === 'contract')).toEqual({
    ...{ check: 'contract', ok, message: `0 of 250 certificates this month, 8 of ${included} exporters` },
    advice: advice && expect.stringMatching(advice),
  });
});

it.each<[string, Record<string, string>, RegExp]>([
  ['configuration', { EBRC_API_KEY: 'key' }, /EBRC_API_KEY has an unknown prefix/],
  ['configuration', { EBRC_HTTP_TIMEOUT: 'soon' }, /EBRC_HTTP_TIMEOUT/],
  ['configuration', { DATABASE_URL: '' }, /DATABASE_URL is missing/],
  ['configuration', { EBRC_ENCRYPTION_KEY: 'short' }, /EBRC_ENCRYPTION_KEY/],
  ['configuration', { EBRC_MODE: 'live' }, /EBRC_MODE is live, but/],
  ['postgresql', { DATABASE_URL: 'postgres://ebrc:hunter2@127.0.0.1:9/ebrc' }, /ECONNREFUSED/],
  ['temporal', { TEMPORAL_ADDRESS: '127.0.0.1:9' }, /Temporal at 127\.0\.0\.1:9 .*cannot be reached: (?!.*Start it)/],
  ['temporal', { TEMPORAL_NAMESPACE: 'nowhere' }, /nowhere/],
  ['workers', { EBRC_TASK_QUEUE: 'another' }, /no worker polls another/],
  [
    'workers',
    { EBRC_EXTRACTION_URL: 'http://127.0.0.1:9', EBRC_EXTRACTION_KEY: 'k', EBRC_EXTRACTION_VERSION: '1' },
    /no worker polls \S+-extraction$/,
  ],
  ['documents', { EBRC_DOCUMENTS: '/dev/null/documents' }, /ENOTDIR/],
  ['configuration', { EBRC_DOCUMENTS: 's3://Bucket' }, /EBRC_DOCUMENTS .* is not the address of a bucket/],
  ['schedules', { EBRC_MODE: 'test', EBRC_SCHEDULES: '/nowhere/schedules.yaml' }, /schedules\.yaml/],
  ['service', { EBRC_API_URL: 'http://127.0.0.1:9/api/v1' }, /does not answer/],
  ['service', { EBRC_API_KEY: 'dev_unknown' }, /Invalid API key|API key/],
])('names what is wrong: %s with %j', async (check, more, message) => {
  const ofTemporal = ['temporal', 'workers', 'schedules'].includes(check);
  const wrong = await (ofTemporal ? wrongOnes(more) : wrongBesidesTemporal(more));
  expect(wrong.map((each) => each.check)).toContain(check);
  const found = wrong.find((each) => each.check === check && message.test(each.message));
  expect([wrong, found?.advice]).toEqual([wrong, expect.stringMatching(/\w+/u)]);
});

it('names a database without tables, and one whose user may not write', async () => {
  const empty = await createEmptyDatabase();
  const user = `reader_${randomBytes(4).toString('hex')}`;
  await database.pool.query(`CREATE ROLE ${user} LOGIN PASSWORD 'hunter2'`);
  try {
    expect((await wrongBesidesTemporal({ DATABASE_URL: empty.url })).map(({ check }) => check)).toEqual(['schema']);
    // Looking changes nothing.
    expect((await wrongBesidesTemporal({ DATABASE_URL: empty.url })).map(({ check }) => check)).toEqual(['schema']);
    await database.pool.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${user}`);
    const url = new URL(database.url);
    [url.username, url.password] = [user, 'hunter2'];
    const rights = (await wrongBesidesTemporal({ DATABASE_URL: url.href })).find(({ check }) => check === 'rights');
    expect(rights?.message).toMatch(/lacks rights on these tables: .*vault_secrets/);
  } finally {
    await database.pool.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
    await empty.drop();
  }
});

it('names stored passwords whose key is gone', async () => {
  const lost = createVault({ keys: [{ id: 'lost', key: randomBytes(32) }] });
  const secret = { mode: 'test' as const, workflowId: 'w', username: 'u', password: 'p' };
  await lost.publish(database.pool, 'test');
  const ref = await handIn(database.pool, secret);
  const sealed = await wrongBesidesTemporal({});
  await database.pool.query('DELETE FROM vault_keys');
  const wrong = await wrongBesidesTemporal({});
  await discard(database.pool, ref);
  expect(sealed).toMatchObject([
    { check: 'vault keys', message: expect.stringContaining('sealed to key lost') as string },
  ]);
  expect(wrong).toMatchObject([{ check: 'vault keys', message: expect.stringContaining('lost') as string }]);
});

it('names missing search attributes', async () => {
  const client = await server.client();
  await client.workflowService.registerNamespace({
    namespace: 'bare',
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  const wrong = await wrongOnes({ TEMPORAL_NAMESPACE: 'bare' });
  const { advice } = wrong.find(({ check }) => check === 'search attributes') ?? {};
  expect(advice).toMatch(/search-attribute create --namespace bare .*--name EbrcState --type Keyword/);
  expect(advice).toMatch(/tcld namespace search-attributes add --namespace bare .*--sa "EbrcState=Keyword"/);
});

it('names schedules that are paused, or were never made', async () => {
  const client = await server.client();
  const ids: string[] = [];
  for await (const { scheduleId } of client.schedule.list()) ids.push(scheduleId);
  const handle = client.schedule.getHandle(ids[0] ?? '');
  await handle.pause();
  // One that is due meanwhile starts a workflow that no worker of this test answers.
  const wrongOfSchedules = async () => (await wrongOnes({})).filter(({ check }) => check !== 'workers');
  expect(await wrongOfSchedules()).toMatchObject([{ check: 'schedules', message: `paused: ${ids[0]}` }]);
  await handle.unpause();
  await ebrc(['schedules', 'delete'], { env });
  const wrong = await wrongOfSchedules();
  await ebrc(['schedules', 'apply'], { env });
  expect(wrong).toMatchObject([
    { check: 'schedules', advice: expect.stringContaining('ebrc schedules apply') as string },
  ]);
});

it('reports a ledger that has to be compared with Temporal again', async () => {
  const seen = await readLedgerTime(database.pool, 'test');
  const { rows } = await database.pool.query('SELECT branch, epoch FROM ledger');
  await doubtLedger(database.pool, seen.epoch);
  const wrong = await wrongBesidesTemporal({});
  await database.pool.query('UPDATE ledger SET branch = $1, epoch = $2', [rows[0].branch, rows[0].epoch]);
  expect(wrong).toMatchObject([{ check: 'ledger', message: expect.stringContaining('nothing is sent') as string }]);
});

it('names a filing whose workflow fails', async () => {
  const { filingId } = await recordFilingByHand(database.pool, { reference: 'FAILS' });
  const filing = await filingForRun(database.pool, filingId);
  const problem = { kind: 'run_failing', text: 'Its workflow fails at every try.' } as const;
  if (filing) await noteRunProblem(database.pool, filing, problem);
  const wrong = await wrongBesidesTemporal({});
  expect(wrong).toMatchObject([
    { check: 'runs', message: expect.stringMatching(/^1 open filing .* FAILS: Its workflow fails/u) as string },
  ]);
  await database.pool.query('UPDATE filings SET closed_at = clock_timestamp() WHERE filing_id = $1', [filingId]);
  expect(await wrongBesidesTemporal({})).toEqual([]);
});

it('names a server that takes no writes, and a ledger that is newer than this version', async () => {
  const readOnly = `${database.url}?options=-c%20default_transaction_read_only%3Don`;
  const wrong = await wrongBesidesTemporal({ DATABASE_URL: readOnly });
  expect(wrong.find(({ check }) => check === 'postgresql')?.message).toBe('the server takes no writes');
  await database.pool.query("INSERT INTO schema_migrations (name, run_on) VALUES ('999_later', now())");
  const later = await wrongBesidesTemporal({});
  await database.pool.query("DELETE FROM schema_migrations WHERE name = '999_later'");
  expect(later).toMatchObject([{ check: 'schema', message: expect.stringContaining('999_later') as string }]);
});

it('names a migration that was edited after the ledger had applied it', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    "UPDATE schema_migrations SET sha256 = 'x' || sha256 WHERE id = 1 RETURNING name",
  );
  const wrong = await wrongBesidesTemporal({});
  await database.pool.query('UPDATE schema_migrations SET sha256 = substr(sha256, 2) WHERE id = 1');
  expect(wrong).toMatchObject([{ check: 'schema', message: expect.stringContaining(String(rows[0]?.name)) as string }]);
});

it('names a service whose clock is off', async () => {
  const off = await startService((_request, response) => {
    response.setHeader('date', new Date(Date.now() - 600_000).toUTCString());
    json(response, 401, { statusCode: 401, message: 'No API key provided' });
  });
  const wrong = await wrongBesidesTemporal({ EBRC_API_URL: off.baseUrl });
  await off.close();
  expect(wrong.find(({ check }) => check === 'clock of the service')?.message).toMatch(/behind this machine/);
});

it('takes the way of an answer for no difference of clocks', () => {
  const slow = { asked: 1_000_000, answered: 1_060_000 };
  for (const theirs of [1_000_000, 1_030_000, 1_060_000, 996_000, 1_064_000]) {
    expect(clockResult('clock', 'it', { ...slow, theirs }).ok).toBe(true);
  }
  expect(clockResult('clock', 'it', { ...slow, theirs: 1_066_000 }).message).toBe('it is 6 s ahead of this machine');
  expect(clockResult('clock', 'it', { ...slow, theirs: 993_000 }).message).toBe('it is 7 s behind this machine');
  expect(clockResult('clock', 'it', { ...slow, theirs: 994_500, coarseMs: 1_000 }).ok).toBe(true);
});
