/** What commands say when a server that they need is up and the one behind it is not. */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { runProgram } from '../../src/starter/cli/program';
import { customer as customerSchema } from '../../src/api/schemas/exporters';
import { saveExporter } from '../../src/ledger/exporters/exporters';
import type { Problem } from '../../src/starter/errors';
import { loadConfig } from '../../src/config/config';
import { connectTemporal } from '../../src/starter/connect';
import type { EbrcClientDependencies } from '../../src/starter/dependencies';
import { followFiling } from '../../src/starter/filings/start';
import { pollersOf, silenceNotice, TemporalSilentError } from '../../src/temporal/workers-present';
import { knowExporter, NOW, tell } from '../ledger/filed';
import { cleanEnvironment, ebrc, programArguments } from '../support/command-line';
import { principalOfToken } from '../../src/ledger/principals/principals';
import { createVault } from '../../src/ledger/vault/vault';
import { createTestDatabase, useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { startTcpProxy } from '../support/tcp-proxy';
import { useDevServer } from '../support/temporal';

const EMAIL = 'asha@example.test';

const database = useTestDatabase();
const server = useDevServer();
let env: Record<string, string>;

beforeAll(async () => {
  await knowExporter(database);
  await saveExporter(
    database.pool,
    customerSchema.parse({ id: randomUUID(), name: 'Asha', email: EMAIL }),
    'test',
    new Date(),
  );
  env = {
    EBRC_API_URL: 'http://127.0.0.1:9/api/v1',
    EBRC_API_KEY: 'dev_sandbox_key',
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: server.address,
  };
});

async function problemOf(args: string[], more: Record<string, string> = {}, input?: string): Promise<Problem> {
  const result = await ebrc([...args, '--json'], { env: { ...env, ...more }, input, lookForWorkerEveryMs: 100 });
  expect(result.code).toBe(1);
  const [error] = result.json<{ errors: Problem[] }>().errors;
  if (!error) throw new Error('no error was printed');
  return error;
}

it('a namespace that Temporal does not have', async () => {
  const { message } = await problemOf(['irms', EMAIL, '--refresh'], { TEMPORAL_NAMESPACE: 'nowhere' });
  expect(message).toMatch(/nowhere.*TEMPORAL_NAMESPACE/u);
});

it('a ledger whose first migration has not been committed yet', async () => {
  const young = await createTestDatabase();
  try {
    // As the migration library leaves it before its transaction commits.
    await young.pool.query(
      'DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE schema_migrations (id serial, name text, run_on timestamp)',
    );
    const result = await ebrc(['list', '--json'], { env: { ...env, DATABASE_URL: young.url } });
    expect(result).toMatchObject({ code: 0 });
  } finally {
    await young.drop();
  }
});

it('no worker, for what only a worker can answer', async () => {
  const credentials = ['credentials', EMAIL, '--username', 'asha', '--password-stdin'];
  const never = await problemOf(credentials, {}, 'Right-Horse-1!');
  await createVault({ keys: [{ id: 'k', key: randomBytes(32) }] }).publish(database.pool, 'test');
  const later = await Promise.all([
    problemOf(['irms', EMAIL, '--refresh']),
    problemOf(credentials, {}, 'Right-Horse-1!'),
  ]);
  for (const problem of [never, ...later]) {
    expect(problem).toMatchObject({ code: 'no_worker', message: expect.stringContaining('worker.js') as string });
  }
});

it.each([
  [['reconcile', '--from', '2026-02-30'], 'invalid_input', 'from: is not a calendar day'],
  [['reconcile', '--from', '2026-03-02', '--to', '2026-03-01'], 'invalid_input', 'from: is after `to`'],
  [['abandon', 'NO-SUCH', '--note', ' '], 'invalid_input', 'note: is empty: say why'],
  [['exporter', EMAIL, '--name', ' '], 'invalid_input', 'name: allowed: at least 1 characters'],
  [['credentials', EMAIL, '--username', '', '--password-stdin'], 'secret_empty', 'The portal user name is empty.'],
])(
  'no worker, and a wrong input: it is refused at once, in the form of every error: %j',
  async (args, code, message) => {
    const result = await ebrc([...args, '--json'], { env, input: 'Right-Horse-1!' });
    const field = code === 'invalid_input' ? message.split(':')[0] : null;
    const error = { severity: 'error', code, row: null, field, message };
    expect([result.code, result.json()]).toEqual([3, { errors: [error] }]);
  },
);

it('a Temporal server that takes requests and does not answer: whether something was started', async () => {
  const proxy = await startTcpProxy(`http://${server.address}`);
  try {
    const slow = { TEMPORAL_ADDRESS: `127.0.0.1:${proxy.port}` };
    const client = await connectTemporal(loadConfig({ ...env, ...slow }, { need: ['temporal', 'payloads'] }));
    proxy.swallow(true, 'back');
    expect(await silenceNotice(client, 'ebrc')).toMatch(/not known whether the request is under way.*twice/u);
    const started = { workflowId: 'file/test/SLOW', reference: 'SLOW', n: 1, exporterId: 'X' };
    const following = followFiling(
      { ...({ pool: database.pool, mode: 'test' } as EbrcClientDependencies), temporal: client, taskQueue: 'ebrc' },
      started,
      {},
    );
    await expect(following).rejects.toBeInstanceOf(TemporalSilentError);
    const connecting = await ebrc(['schedules', 'list', '--json'], { env: { ...env, ...slow }, connectWithinMs: 300 });
    const [error] = connecting.json<{ errors: Problem[] }>().errors;
    expect([connecting.code, error?.code]).toEqual([1, 'unreachable']);
    expect(error?.message).toMatch(/cannot be reached: it did not answer in time\..*Nothing was started/u);
    await client.connection.close();
  } finally {
    await proxy.close();
  }
});

/** Polls a task queue once, as a worker that is frozen then. */
async function polled(client: Client, name: string): Promise<void> {
  const stop = new AbortController();
  const request = { namespace: 'default', taskQueue: { name }, identity: 'one' };
  const poll = client.connection.withAbortSignal(stop.signal, () =>
    client.connection.withDeadline(Date.now() + 60_000, () => client.workflowService.pollWorkflowTaskQueue(request)),
  );
  const ended = poll.catch(() => undefined);
  await eventually(async () => (await pollersOf(client, name, 'workflow')) === 1);
  stop.abort();
  await ended;
}

it('a worker that has polled, and takes no tasks', async () => {
  await polled(await server.client(), 'frozen');
  const problem = await problemOf(['irms', EMAIL, '--refresh'], { EBRC_TASK_QUEUE: 'frozen', EBRC_MODE: 'test' });
  expect(problem).toMatchObject({ code: 'no_worker', message: expect.stringContaining('stuck') as string });
});

it('a workflow that a program with another EBRC_TASK_QUEUE has started: where it is, not where its worker would be', async () => {
  const client = await server.client();
  const workflowId = 'file/test/ELSEWHERE';
  await client.workflow.start('fileRemittances', { workflowId, taskQueue: 'wrong', args: [{}] });
  const notice = await silenceNotice(client, 'right', workflowId);
  expect(notice).toMatch(/on task queue wrong.*not on right.*EBRC_TASK_QUEUE.*Terminate file\/test\/ELSEWHERE/u);

  const filingId = await tell(database, { reference: 'ELSEWHERE', madeAt: NOW, rows: [{ irmNumber: 'IRM-E' }] });
  await database.pool.query('UPDATE filings SET workflow_id = $2 WHERE filing_id = $1', [filingId, workflowId]);
  const resume = async (taskQueue: string) =>
    (await ebrc(['resume', 'ELSEWHERE', '--json'], { env: { ...env, EBRC_TASK_QUEUE: taskQueue } })).json();
  expect(await resume('right')).toEqual([expect.objectContaining({ resumed: true, message: null })]);
  expect((await client.workflow.getHandle(workflowId).describe()).taskQueue).toBe('right');
  await polled(client, 'right');
  const message = 'Its run goes on, on task queue right, where a worker takes it.';
  expect(await resume('another')).toEqual([expect.objectContaining({ resumed: false, message })]);
});

it('a user who interrupts the wait: what was started goes on, and how to look at it', async () => {
  const child = spawn(process.execPath, [...programArguments('src/starter/cli.ts'), 'reconcile', '--wait'], {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const client = await server.client();
  const run = () => client.workflow.getHandle('reconcile/test/all/..').describe();
  await eventually(() =>
    run().then(
      () => true,
      () => false,
    ),
  );
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([null, 'SIGINT']);
  expect(said).toMatch(/continues; only this command ended\. `ebrc findings`/u);
  expect((await run()).status.name).toBe('RUNNING');
});

describe('PostgreSQL restarts', () => {
  it('while a command starts: the command waits, and prints why', async () => {
    const proxy = await startTcpProxy(database.url);
    await proxy.close();
    const listed = ebrc(['list', '--state', 'processing', '--json'], {
      env: { ...env, DATABASE_URL: proxy.inFrontOf(database.url) },
      waitForLedgerMs: 60_000,
    });
    // The same port again, as a server that is back.
    const back = createServer((near) => {
      const { hostname, port } = new URL(database.url);
      near.pipe(connect(Number(port), hostname)).pipe(near);
    });
    await sleep(700);
    await new Promise<void>((resolve) => back.listen(proxy.port, '127.0.0.1', resolve));
    const { code, stderr, stdout } = await listed;
    back.close();
    expect([code, stdout.trim()]).toEqual([0, '[]']);
    expect(stderr).toMatch(/PostgreSQL at 127\.0\.0\.1:\d+.* cannot be used yet .*trying again/u);
  });

  it('in the middle of a command that only reads: it is run again', async () => {
    const proxy = await startTcpProxy(database.url);
    const holder = await database.pool.connect();
    await holder.query('BEGIN; LOCK TABLE filings IN ACCESS EXCLUSIVE MODE');
    const listed = ebrc(['list', '--state', 'processing', '--json'], {
      env: { ...env, DATABASE_URL: proxy.inFrontOf(database.url) },
      waitForLedgerMs: 60_000,
    });
    await eventually(async () => {
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'filings'::regclass`;
      return (await database.pool.query(waiting)).rowCount === 1;
    });
    proxy.reset();
    await holder.query('COMMIT');
    holder.release();
    const { code, stderr, stdout } = await listed;
    await proxy.close();
    expect([code, stdout.trim()]).toEqual([0, '[]']);
    expect(stderr).toMatch(/Trying again/u);
  });

  it('in the middle of a list: what was printed is not printed again as if it were more', async () => {
    await database.pool.query(
      `INSERT INTO exporters (exporter_id, mode, name, email)
       SELECT 'many-' || n, 'test', 'Many ' || n, 'x' FROM generate_series(1, 1500) n`,
    );
    const proxy = await startTcpProxy(database.url);
    const printed: string[] = [];
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        printed.push(...chunk.toString().split('\n').filter(Boolean));
        proxy.reset();
        done();
      },
    });
    const streams = { stdin: Readable.from([]), stdout, stderr: new Writable({ write: (_1, _2, done) => done() }) };
    const more = { env: cleanEnvironment({ ...env, DATABASE_URL: proxy.inFrontOf(database.url) }) };
    const code = await runProgram(['exporters', '--jsonl'], streams, { ...more, waitForLedgerMs: 60_000 });
    await proxy.close();
    expect([code, printed.length]).toEqual([1, 1_000]);
  });

  it('while a token is rotated: it is not done twice, which would end the token that is in use', async () => {
    const added = await ebrc(['principals', 'add', 'erp', '--role', 'viewer', '--json'], { env });
    const { token } = added.json<{ token: string }>();
    const proxy = await startTcpProxy(database.url);
    const holder = await database.pool.connect();
    // The commit waits until its answer can be swallowed.
    await holder.query(`CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON principal_tokens DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_at_commit()`);
    await holder.query('SELECT pg_advisory_lock(4711)');
    const rotated = ebrc(['principals', 'rotate', 'erp', '--json'], {
      env: { ...env, DATABASE_URL: proxy.inFrontOf(database.url) },
      waitForLedgerMs: 60_000,
    });
    const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted`;
    await eventually(async () => (await database.pool.query(waiting)).rowCount === 1);
    proxy.swallow(true, 'back');
    await holder.query('SELECT pg_advisory_unlock(4711)');
    holder.release();
    const tokens = () => database.pool.query('SELECT FROM principal_tokens');
    await eventually(async () => (await tokens()).rowCount === 2);
    proxy.reset();
    proxy.swallow(false);
    const { code, stdout } = await rotated;
    await proxy.close();
    expect([code, stdout]).toEqual([1, expect.stringContaining('ebrc principals list')]);
    expect(await principalOfToken(database.pool, 'test', token)).toMatchObject({ name: 'erp' });
  });
});
