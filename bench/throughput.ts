/**
 * One-row push filings a second, from start to archived certificate, with the service's limits off; beside a bare
 * workflow of six activities that do nothing, on the same server, before and after. And the CPU time of each, by part.
 * Once with a server that stores its histories in a file, which is held to the goal, because every real server stores
 * them; and once with one that keeps them in memory.
 */
import { openBareWorker, openFilingBench } from './support/filing-bench';
import { quietRuntime } from './support/quiet-runtime';
import { report } from './support/report';
import { runBench } from './support/run-bench';

const COUNT = Number(process.env['BENCH_FILINGS'] ?? 150);
const AT_ONCE = 20;
const WARM_UP = 20;
const GOAL = 0.6;

type Figures = Record<string, Record<string, string | number>>;

/** @returns the figures of both, and filings a second by bare workflows a second */
async function measureOn(server: string, durableTemporal: boolean): Promise<{ figures: Figures; ratio: number }> {
  const variables = { EBRC_POLL_FIRST: '0s', LOG_LEVEL: 'warn' };
  const bench = await openFilingBench({ ackDelayMs: 0, durableTemporal, variables });
  /** @returns how many a second, and the CPU time of one in ms, by part */
  async function measured(run: (count: number, atOnce: number) => Promise<number>) {
    const before = bench.cpu();
    const rate = COUNT / (await run(COUNT, AT_ONCE));
    const cpu = Object.entries(bench.cpu()).map(([part, ms]) => [part, Math.round((ms - (before[part] ?? 0)) / COUNT)]);
    return { rate, cpu: Object.fromEntries(cpu) as Record<string, number> };
  }
  try {
    const bare = await openBareWorker(bench.stage);
    await bare.run(WARM_UP, AT_ONCE);
    await bench.fileToTheEnd(WARM_UP, AT_ONCE);
    const before = await measured(bare.run);
    const filings = await measured(bench.fileToTheEnd);
    const after = await measured(bare.run);
    await bare.stop();
    const ratio = filings.rate / ((before.rate + after.rate) / 2);
    const row = ({ rate, cpu }: typeof filings) => ({
      'a second': Number(rate.toFixed(2)),
      'CPU ms each': Object.values(cpu).reduce((sum, ms) => sum + ms, 0),
      ...cpu,
    });
    const figures = {
      [`${server}: bare, before`]: row(before),
      [`${server}: ${COUNT} filings, ${AT_ONCE} at once`]: row(filings),
      [`${server}: bare, after`]: row(after),
      [`${server}: ratio`]: { 'a second': Number(ratio.toFixed(2)) },
    };
    return { figures, ratio };
  } finally {
    await bench.stop();
  }
}

async function main(): Promise<void> {
  quietRuntime();
  const durable = await measureOn('stored in a file', true);
  const inMemory = await measureOn('in memory', false);
  const goal = `filings/s ÷ bare/s ≥ ${GOAL} on a server that stores its histories (in memory: ${inMemory.ratio.toFixed(2)})`;
  report('throughput', { ...durable.figures, ...inMemory.figures }, [{ goal, met: durable.ratio >= GOAL }]);
}

runBench(main);
