import pino from 'pino';
import { recordFailedCheck } from '../../src/ledger/vault/credential-fuse';
import { leaderJob, startBackgroundJobs, type BackgroundJob } from '../../src/worker/background-jobs';
import { cleaningJobs, searchAttributesJob, sweepSecrets, watchDocumentStore } from '../../src/worker/jobs';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { useDevServer } from '../support/temporal';
import { randomBytes } from 'node:crypto';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { createVault, handIn } from '../../src/ledger/vault/vault';
import { mkdir, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createDocumentStore } from '../../src/documents/document-store';
import { readinessOf } from '../../src/telemetry/readiness';
import { testFolder } from '../support/folder';

const database = useTestDatabase();
const silent = pino({ level: 'silent' });
const job = (run: BackgroundJob['run'], everyMs = 10): BackgroundJob => ({ id: 'job', name: 'a job', everyMs, run });

it('runs a job at once and again and again, also after a failure, and not after the stop', async () => {
  let runs = 0;
  const jobs = startBackgroundJobs([job(() => Promise.reject(new Error(`run ${(runs += 1)}`)))], silent);
  expect(runs).toBe(1);
  await eventually(() => runs >= 3);
  await jobs.stop();
  const last = runs;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(runs).toBe(last);
});

it('never runs a job twice at a time, and waits for the one under way when it stops', async () => {
  let under = 0;
  let most = 0;
  const jobs = startBackgroundJobs(
    [
      job(async () => {
        most = Math.max(most, (under += 1));
        await new Promise((resolve) => setTimeout(resolve, 30));
        under -= 1;
      }, 1),
    ],
    silent,
  );
  await eventually(() => under === 1);
  await jobs.stop();
  expect([most, under]).toEqual([1, 0]);
});

it('removes what nothing reads any more: failed checks, calls of the service, and workbooks that were not filed', async () => {
  const { pool } = database;
  const count = async (table: string) => (await pool.query(`SELECT FROM ${table}`)).rowCount;
  const key = { mode: 'test', exporterId: 'e' } as const;
  await recordFailedCheck(pool, { ...key, at: new Date(Date.now() - 31 * 60_000) });
  await recordFailedCheck(pool, { ...key, at: new Date() });
  await pool.query(
    `INSERT INTO api_calls (mode, at, operation, latency_ms) SELECT 'test', now() - d * interval '1 day', 'status', 1 FROM unnest('{1,179,181}'::int[]) d`,
  );
  const documents = createDocumentStore({ root: join(folder, 'cleaned') });
  const handedIn = async (name: string, hours: number) => {
    const buffer = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(100), Buffer.from('PK\x05\x06')]);
    const { path } = await documents.put({ name: `handed-in-${name}`, kind: 'xlsx', buffer });
    await utimes(path, new Date(), new Date(Date.now() - hours * 3_600_000));
    return path;
  };
  const kept = basename(await handedIn('kept', 23));
  const removed = await handedIn('old', 25);
  for (const { run } of cleaningJobs({ pool, documents, logger: silent })) await run(new AbortController().signal);
  expect([await count('credential_failures'), await count('api_calls')]).toEqual([1, 2]);
  expect(await readdir(dirname(removed))).toEqual([kept]);
});

it('is done by one worker at a time, and by another once that one has lost its connection', async () => {
  const { pool } = database;
  const runs = [0, 0];
  const workers = runs.map((_, nth) => {
    const counting = job(() => Promise.resolve(void (runs[nth] = (runs[nth] ?? 0) + 1)));
    const lead = leaderJob({ pool, mode: 'test', jobs: [counting], logger: silent });
    return startBackgroundJobs([{ ...lead, everyMs: 10 }], silent);
  });
  await eventually(() => runs.some((each) => each >= 3));
  const [leader, other] = runs[0] === 0 ? [1, 0] : [0, 1];
  expect(runs[other]).toBe(0);
  await workers[leader]?.stop();
  await eventually(() => (runs[other] ?? 0) >= 3);
  const next = leaderJob({
    pool,
    mode: 'test',
    jobs: [job(() => Promise.resolve(void (runs[leader] = -1)))],
    logger: silent,
  });
  const third = startBackgroundJobs([{ ...next, everyMs: 10 }], silent);
  await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
  const before = runs[other] ?? 0;
  await eventually(() => runs[leader] === -1 || (runs[other] ?? 0) > before);
  await Promise.all([workers[other]?.stop(), third.stop()]);
});

it('is done by another worker soon after the one that did it was killed, without a word', async () => {
  const { pool } = database;
  const killed = await pool.connect();
  await killed.query(`SELECT pg_advisory_lock(hashtextextended('lead/live', 8))`);
  let runs = 0;
  const counting = job(() => Promise.resolve(void (runs += 1)));
  const waiting = startBackgroundJobs([leaderJob({ pool, mode: 'live', jobs: [counting], logger: silent })], silent);
  const listens = `SELECT FROM pg_stat_activity WHERE query LIKE '%pg_try_advisory_lock%' AND state = 'idle' AND pid <> pg_backend_pid()`;
  await eventually(async () => (await pool.query(listens)).rowCount === 1);
  killed.release(true);
  // Filings and their events go on meanwhile.
  await eventually(() => runs > 0, 60_000);
  await waiting.stop();
});

const server = useDevServer();

it('registers a search attribute again that is gone', async () => {
  const client = await server.client();
  const { namespace } = server;
  const { operatorService } = client.connection;
  const registered = async () =>
    Object.keys((await operatorService.listSearchAttributes({ namespace })).customAttributes);
  await operatorService.removeSearchAttributes({ namespace, searchAttributes: ['EbrcMode'] });
  await eventually(async () => !(await registered()).includes('EbrcMode'));
  const job = searchAttributesJob(client, namespace, pino({ level: 'silent' }));
  const jobs = startBackgroundJobs([{ ...job, everyMs: 50 }], pino({ level: 'silent' }));
  await eventually(async () => (await registered()).includes('EbrcMode'));
  await jobs.stop();
  expect(await registered()).toEqual(expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES)));
});

const PAUSED = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED;

/** As newer servers describe a workflow that an operator has paused. */
const asPaused: NonNullable<WorkflowClientInterceptor['describe']> = async (input, next) => {
  const described = await next(input);
  const { workflowExecutionInfo: info } = described;
  const isPaused = info?.execution?.workflowId?.endsWith('paused');
  return isPaused ? { ...described, workflowExecutionInfo: { ...info, status: PAUSED } } : described;
};

it('removes what was handed to a workflow that ended or never began, and nothing that a running one holds', async () => {
  const { pool } = database;
  const { connection, options } = await server.client();
  const { namespace } = options;
  const client = new Client({ connection, namespace, interceptors: { workflow: [{ describe: asPaused }] } });
  const vault = createVault({ keys: [{ id: 'k', key: randomBytes(32) }] });
  for (const mode of ['test', 'live'] as const) await vault.publish(pool, mode);
  const handTo = (workflowId: string, mode: 'test' | 'live' = 'test') =>
    handIn(pool, { mode, workflowId, username: 'asha', password: 'S3cret' });
  const start = (workflowId: string) =>
    client.workflow.start('onboardExporter', { workflowId, taskQueue: 'nobody-polls-it', args: [{}] });

  const running = await handTo('onboard/test/running');
  await start('onboard/test/running');
  const paused = await handTo('onboard/test/paused');
  await start('onboard/test/paused');
  const ended = await handTo('onboard/test/ended');
  await (await start('onboard/test/ended')).terminate();
  const never = await handTo('onboard/test/never');
  const live = await handTo('onboard/live/elsewhere', 'live');
  const held = async () =>
    (await pool.query<{ ref: string }>('SELECT secret_ref::text AS ref FROM vault_secrets')).rows.map(({ ref }) => ref);

  expect(await sweepSecrets({ pool, client, mode: 'test' })).toBe(0);
  expect((await held()).sort()).toEqual([running, paused, ended, never, live].sort());
  expect(await sweepSecrets({ pool, client, mode: 'test' }, 0)).toBe(2);
  expect((await held()).sort()).toEqual([running, paused, live].sort());
});

const folder = testFolder();

function watch(root: string) {
  const metrics = new Map<string, number>();
  const lines: string[] = [];
  const { job, probe } = watchDocumentStore({
    pool: database.pool,
    documents: createDocumentStore({ root }),
    metrics: { set: (name, value) => void metrics.set(name, value) },
  });
  expect(job.everyMs).toBe(60_000);
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const jobs = startBackgroundJobs([{ ...job, everyMs: 10 }], logger);
  const ready = async () => {
    const [check] = await readinessOf([probe])();
    return [check?.ok, check?.message, metrics.get('ebrc_document_store_up')];
  };
  return { jobs, ready, log: () => lines.join('') };
}

const USABLE = [true, 'can be written, read and listed', 1];
const AWAY = [false, 'the document store cannot be used; the log says why', 0];

it('becomes ready when the store does, and is not while the store is away or is another one', async () => {
  const root = join(folder, 'documents');
  await writeFile(root, 'not a folder');
  const { jobs, ready, log } = watch(root);
  expect(await ready()).toEqual([false, 'not seen yet', undefined]);
  await eventually(() => /EEXIST|ENOTDIR/.test(log()));
  expect(await ready()).toEqual(AWAY);

  await rm(root);
  await eventually(async () => (await ready())[0] === true);
  expect(await ready()).toEqual(USABLE);

  // Moved, not deleted file by file: the watcher writes into it at the same time.
  await rename(root, join(folder, 'taken away'));
  await eventually(async () => (await ready())[0] === false);
  await mkdir(root);
  // A folder that is empty is not the one that has the documents of this ledger.
  await eventually(() => log().includes('has the documents of no ledger'));
  expect(await ready()).toEqual(AWAY);
  await jobs.stop();
  expect(await readdir(root)).toEqual([]);
});

it('never becomes ready with a bucket that nobody can reach, and the log says why', async () => {
  const { jobs, ready, log } = watch('s3://bucket');
  await eventually(() => log().includes('Region is missing'));
  expect(await ready()).toEqual(AWAY);
  await jobs.stop();
});
