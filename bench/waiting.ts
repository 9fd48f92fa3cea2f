/**
 * Memory of the worker process while filings wait for the authority: few of them, then many, with the settings of the
 * throughput bench. And what the wait costs otherwise: the time from the start of the worker to its first task, and the
 * replay of a filing that the cache no longer holds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { forEachLimited } from '../src/domain/values';
import { openFilingBench } from './support/filing-bench';
import { residentMb } from './support/process-cost';
import { quietRuntime } from './support/quiet-runtime';
import { report } from './support/report';
import { runBench } from './support/run-bench';

const [FEW = 200, MANY = 2_000] = (process.env['BENCH_WAITING'] ?? '200,2000').split(',').map(Number);
const AT_ONCE = 20;
const MAX_MB = 350;
const MAX_GROWTH = 1.2;
/** Until garbage is collected and idle connections are closed. */
const REST_MS = 10_000;

type Bench = Awaited<ReturnType<typeof openFilingBench>>;

async function main(): Promise<void> {
  quietRuntime();
  const bench = await openFilingBench({ ackDelayMs: 24 * 3_600_000, variables: { LOG_LEVEL: 'warn' } });
  try {
    const memory = () => residentMb(bench.workers.pids()[0]!);
    const atStart = memory();
    const waiting = async (count: number, already: number) => {
      await forEachLimited([...Array(count - already).keys()], AT_ONCE, async () => void (await bench.start()));
      while ((await waitingFilings(bench)) < count) await sleep(500);
      await sleep(REST_MS);
      return memory();
    };
    const few = await waiting(FEW, 0);
    const many = await waiting(MANY, FEW);
    // The oldest filings left the cache long ago: a query replays them.
    const replays: number[] = [];
    for (let nth = 1; nth <= 20; nth += 1) {
      const from = performance.now();
      await bench.stage.temporal.workflow.getHandle(`file/test/BENCH-${nth}`).query('filing');
      replays.push(performance.now() - from);
    }
    const from = performance.now();
    await bench.workers.restart(0, 'SIGTERM');
    const restartedAt = performance.now();
    await bench.stage.temporal.workflow.getHandle('file/test/BENCH-1').query('filing');
    const firstTask = performance.now();
    const median = replays.sort((a, b) => a - b)[10] ?? NaN;
    const figures = {
      'memory at the start (MB)': { value: atStart },
      [`memory at ${FEW} waiting (MB)`]: { value: few },
      [`memory at ${MANY} waiting (MB)`]: { value: many },
      'replay of an evicted filing, median of 20 (ms)': { value: Math.round(median) },
      'worker stopped and started again (ms)': { value: Math.round(restartedAt - from) },
      'started to first task done (ms)': { value: Math.round(firstTask - restartedAt) },
    };
    report('waiting', figures, [
      { goal: `at most ${MAX_MB} MB at ${MANY} waiting filings`, met: many <= MAX_MB },
      {
        goal: `at most ${MAX_GROWTH} of the memory at ${FEW} (${(many / few).toFixed(2)})`,
        met: many <= MAX_GROWTH * few,
      },
    ]);
  } finally {
    await bench.stop();
  }
}

async function waitingFilings({ stage }: Bench): Promise<number> {
  const { rows } = await stage.pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM filings WHERE state = 'processing'`,
  );
  return rows[0]?.n ?? 0;
}

runBench(main);
