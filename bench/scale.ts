/**
 * A year of filings at several sizes, filled in bulk (dev/fill-ledger.ts): how long what people, filings and workers
 * ask of the ledger takes, and how that grows. Run through `npm run bench -- scale [--rows N[,N…]] [--only TEXT]
 * [--ledgers URL]`; with URL the ledgers URL_N are measured, which are full already.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { startEmbeddedPostgres } from '../dev/postgres';
import { fillLedger } from '../dev/fill-ledger';
import { migrate } from '../src/ledger/migrate';
import { createPool } from '../src/ledger/pool';
import { report } from './support/report';
import { runBench } from './support/run-bench';
import { SCALE_TASKS, type ScaleTask } from './support/scale-tasks';

const SIZES = [20_000, 200_000, 1_000_000];
/**
 * Where a filing, a poll or an idle worker must not grow: so much from the smallest size to the largest. One that takes
 * longer and touches no more pages met a busy machine; one that touches more in the same time reads a small table whole
 * at the smallest size.
 */
const GROWTH = 1.3;
/** Below it a difference is that of the clock, and of indexes which are one page deeper. */
const NOISE = { ms: 1, pages: 40 };

/** Rounds of a task that takes no longer than this in all: the clock of a busy machine needs many. */
const ROUNDS = 20;
const ROUNDS_MS = 1_000;

/** The best time, and the pages that the database touched for it: those do not depend on what else runs. */
interface Measured {
  ms: number;
  pages: number;
}

type Times = Map<ScaleTask, string | Measured>;

async function main(): Promise<void> {
  const sizes = (option('--rows')?.split(',').map(Number) ?? SIZES).sort((a, b) => a - b);
  const only = option('--only');
  const tasks = SCALE_TASKS.filter(({ name }) => only === undefined || name.includes(only));
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-bench-'));
  const kept = option('--ledgers');
  const server = kept ? null : await startEmbeddedPostgres({ folder, temporary: true });
  const columns = new Map<number, Times>();
  for (const rows of sizes) {
    const url = server ? await server.createDatabase(`scale_${rows}`) : `${kept}_${rows}`;
    columns.set(rows, await measure(url, { rows, fill: server !== null, folder, tasks }));
  }
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
  printTable(sizes, columns, tasks);
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

async function measure(
  url: string,
  { rows, fill, folder, tasks }: { rows: number; fill: boolean; folder: string; tasks: readonly ScaleTask[] },
): Promise<Times> {
  if (fill) {
    await migrate(url);
    const loader = createPool({ url, timeouts: { statementMs: 0, queryMs: 0, idleInTransactionMs: 0 } });
    await fillLedger(loader, { rows });
    await loader.end();
  }
  const pool = createPool({ url, applicationName: 'ebrc-bench' });
  const pages = countPages(pool);
  const times: Times = new Map();
  for (const task of tasks) times.set(task, await timeOf(task, { pool, folder }, pages));
  for (const { close } of tasks) await close?.();
  await pool.end();
  return times;
}

/** @returns reads how many pages the connections of the pool have touched by now, in memory or on disk */
function countPages(pool: pg.Pool): () => Promise<number> {
  const opened = new Set<pg.PoolClient>();
  pool.on('connect', (client) => opened.add(client));
  pool.on('remove', (client) => opened.delete(client));
  return async () => {
    // The pool closes connections that were idle for long: what they touched is counted when they end.
    for (const client of opened)
      await client.query('SELECT pg_stat_force_next_flush()').catch(() => opened.delete(client));
    const { rows } = await pool.query<{ pages: string }>(
      `SELECT sum(coalesce(hits, 0) + coalesce(reads, 0)) AS pages FROM pg_stat_io
        WHERE backend_type = 'client backend' AND object IN ('relation', 'temp relation')`,
    );
    return Number(rows[0]?.pages);
  };
}

/** The best of many rounds, or of one that takes long; in words where it fails. */
async function timeOf(
  task: ScaleTask,
  at: { pool: pg.Pool; folder: string },
  pages: () => Promise<number>,
): Promise<Measured | string> {
  const best: Measured = { ms: Infinity, pages: Infinity };
  const began = performance.now();
  for (let round = 0; round < 3 || (round < ROUNDS && performance.now() - began < ROUNDS_MS); round += 1) {
    try {
      await task.prepare?.(at);
      const pagesBefore = await pages();
      const from = performance.now();
      await task.run(at);
      best.ms = Math.min(best.ms, performance.now() - from);
      best.pages = Math.min(best.pages, (await pages()) - pagesBefore);
    } catch (error) {
      return error instanceof Error ? `fails: ${error.message.slice(0, 160)}` : 'fails';
    }
    if (best.ms > 5_000) break;
  }
  console.log(`${task.name.padEnd(50)} ${inWords(best)}, ${Math.round(process.memoryUsage().rss / 1_048_576)} MB`);
  return best;
}

const inWords = (measured: Measured | string | undefined) =>
  typeof measured === 'object' ? `${measured.ms.toFixed(1)} ms, ${measured.pages} pages` : (measured ?? '');

function printTable(sizes: readonly number[], columns: ReadonlyMap<number, Times>, tasks: readonly ScaleTask[]): void {
  const figures: Record<string, Record<string, string | number>> = {};
  const goals: { goal: string; met: boolean }[] = [];
  for (const task of tasks) {
    const times = sizes.map((rows) => columns.get(rows)?.get(task));
    figures[task.name] = Object.fromEntries(sizes.map((rows, nth) => [`${rows} rows`, inWords(times[nth])]));
    const [smallest, largest] = [times[0], times.at(-1)];
    const grownBy = (what: keyof Measured) =>
      typeof smallest === 'object' && typeof largest === 'object' ? largest[what] - smallest[what] * GROWTH : Infinity;
    const within =
      typeof smallest === 'object' &&
      typeof largest === 'object' &&
      (task.mostMs === undefined
        ? grownBy('pages') <= NOISE.pages || grownBy('ms') <= NOISE.ms
        : largest.ms <= task.mostMs);
    const asked =
      task.mostMs === undefined ? `grows by no more than ${GROWTH} in time or pages` : `≤ ${task.mostMs} ms`;
    goals.push({ goal: `${task.name}: ${asked}`, met: within });
  }
  report('scale', figures, goals);
}

runBench(main);
