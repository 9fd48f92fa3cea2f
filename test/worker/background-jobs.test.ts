import pino from 'pino';
import { recordFailedCheck } from '../../src/ledger/vault/credential-fuse';
import { leaderJob, startBackgroundJobs, type BackgroundJob } from '../../src/worker/background-jobs';
import { cleaningJobs } from '../../src/worker/jobs';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';

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

it('notifies a job that the worker stops', async () => {
  let told = false;
  const jobs = startBackgroundJobs(
    [job((signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(void (told = true)))))],
    silent,
  );
  await jobs.stop();
  expect(told).toBe(true);
});

it('removes what nothing reads any more: old failed checks, and calls of the service', async () => {
  const { pool } = database;
  const count = async (table: string) => (await pool.query(`SELECT FROM ${table}`)).rowCount;
  const key = { mode: 'test', exporterId: 'e' } as const;
  await recordFailedCheck(pool, { ...key, at: new Date(Date.now() - 31 * 60_000) });
  await recordFailedCheck(pool, { ...key, at: new Date() });
  await pool.query(
    `INSERT INTO api_calls (mode, at, operation, latency_ms) SELECT 'test', now() - d * interval '1 day', 'status', 1 FROM unnest('{1,179,181}'::int[]) d`,
  );
  for (const { run } of cleaningJobs(pool, silent)) await run(new AbortController().signal);
  expect([await count('credential_failures'), await count('api_calls')]).toEqual([1, 2]);
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
