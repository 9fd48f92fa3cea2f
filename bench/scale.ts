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
/** Where a filing, a poll or an idle worker must not grow: so much from the smallest size to the largest. */
const GROWTH = 1.3;
/** Below it a difference is that of the clock. */
const NOISE_MS = 2;

type Times = Map<ScaleTask, string | number>;

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
  const times: Times = new Map();
  for (const task of tasks) times.set(task, await timeOf(task, { pool, folder }));
  await pool.end();
  return times;
}

/** The best of three, or of one that takes long; in words where it fails. */
async function timeOf(task: ScaleTask, at: { pool: pg.Pool; folder: string }): Promise<number | string> {
  let best = Infinity;
  for (let round = 0; round < 3 && best > (round === 0 ? 0 : NOISE_MS); round += 1) {
    const from = performance.now();
    try {
      await task.run(at);
    } catch (error) {
      return error instanceof Error ? `fails: ${error.message.slice(0, 60)}` : 'fails';
    }
    const took = performance.now() - from;
    best = Math.min(best, took);
    if (took > 5_000) break;
  }
  console.log(`${task.name.padEnd(50)} ${best.toFixed(1)} ms, ${Math.round(process.memoryUsage().rss / 1_048_576)} MB`);
  return best;
}

function printTable(sizes: readonly number[], columns: ReadonlyMap<number, Times>, tasks: readonly ScaleTask[]): void {
  const figures: Record<string, Record<string, string | number>> = {};
  const goals: { goal: string; met: boolean }[] = [];
  for (const task of tasks) {
    const times = sizes.map((rows) => columns.get(rows)?.get(task) ?? NaN);
    figures[task.name] = Object.fromEntries(
      sizes.map((rows, nth) => [
        `${rows} rows`,
        typeof times[nth] === 'number' ? `${times[nth].toFixed(1)} ms` : String(times[nth]),
      ]),
    );
    const [smallest, largest] = [times[0], times.at(-1)];
    const within =
      typeof smallest === 'number' &&
      typeof largest === 'number' &&
      (task.mostMs === undefined
        ? largest <= Math.max(smallest * GROWTH, smallest + NOISE_MS)
        : largest <= task.mostMs);
    const asked = task.mostMs === undefined ? `grows by no more than ${GROWTH}` : `≤ ${task.mostMs} ms`;
    goals.push({ goal: `${task.name}: ${asked}`, met: within });
  }
  report('scale', figures, goals);
}

runBench(main);
