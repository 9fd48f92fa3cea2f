/**
 * One-row push filings a second, from start to archived certificate, with the service's limits off; beside a bare
 * workflow of six activities that do nothing, on the same server, before and after.
 */
import { openBareWorker, openFilingBench } from './support/filing-bench';
import { quietRuntime } from './support/quiet-runtime';
import { report } from './support/report';
import { runBench } from './support/run-bench';

const COUNT = Number(process.env['BENCH_FILINGS'] ?? 150);
const AT_ONCE = 20;
const WARM_UP = 20;
const GOAL = 0.6;

async function main(): Promise<void> {
  quietRuntime();
  const bench = await openFilingBench({ ackDelayMs: 0, variables: { EBRC_POLL_FIRST: '0s', LOG_LEVEL: 'warn' } });
  try {
    const bare = await openBareWorker(bench.stage);
    await bare.run(WARM_UP, AT_ONCE);
    await bench.fileToTheEnd(WARM_UP, AT_ONCE);
    const before = COUNT / (await bare.run(COUNT, AT_ONCE));
    const filings = COUNT / (await bench.fileToTheEnd(COUNT, AT_ONCE));
    const after = COUNT / (await bare.run(COUNT, AT_ONCE));
    await bare.stop();
    const plain = (before + after) / 2;
    const ratio = filings / plain;
    const round = (value: number) => Number(value.toFixed(2));
    const figures = {
      [`${COUNT} filings, ${AT_ONCE} at once`]: {
        'filings/s': round(filings),
        'bare/s before': round(before),
        'bare/s after': round(after),
        ratio: round(ratio),
      },
    };
    report('throughput', figures, [{ goal: `filings/s ÷ bare/s ≥ ${GOAL}`, met: ratio >= GOAL }]);
  } finally {
    await bench.stop();
  }
}

runBench(main);
