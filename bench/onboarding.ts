/**
 * Onboards 300 exporters of one list with the command of a user, `ebrc onboard --file`, with two worker processes,
 * against the sandbox with its limits on (4 credential checks a window, shortened to 1 s).
 *
 * Target: every exporter ready, one portal login each, no 429. Ratio: the time until all are ready, by what the
 * narrowest class allows (the credential checks).
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStage } from '../chaos/stage';
import { startWorkers } from '../chaos/workers';
import { makePlan } from '../chaos/plan';
import { RATE_LIMITS } from '../src/domain/names';
import { csvOf } from '../src/starter/exporters/csv';
import { runProgramOf } from './support/run-program';

const EXPORTERS = 300;
const WORKERS = 2;
const WINDOW_MS = 1_000;
const CLASS = 'credentials';

interface ListOutcome {
  counts: Record<string, number>;
  exporters: { email: string; state: string; message: string | null }[];
}

async function main(): Promise<void> {
  const plan = makePlan({ filings: 0, exporters: EXPORTERS, seed: 1 });
  const stage = await openStage({
    seed: plan.seed,
    windowMs: WINDOW_MS,
    ackDelayMs: 0,
    variables: {},
    say: () => undefined,
  });
  try {
    const workers = await startWorkers({ size: WORKERS, env: stage.childEnv, folder: stage.folder });
    try {
      const list = join(stage.folder, 'exporters.csv');
      await writeFile(list, csvOf(plan.exporters));
      const from = performance.now();
      const printed = await runProgramOf(['onboard', '--file', list, '--wait', '--json'], stage.childEnv);
      const tookMs = performance.now() - from;
      const { counts, exporters } = JSON.parse(printed) as ListOutcome;
      const checks = stage.sandbox.calls({ operation: 'check-dgft-credentials' }).length;
      const refused = Object.values(stage.sandbox.refusedByRate()).reduce((sum, each) => sum + each, 0);
      const allowedMs = Math.floor((EXPORTERS - 1) / RATE_LIMITS[CLASS]) * WINDOW_MS;
      console.log(
        `onboarding, ${EXPORTERS} exporters of one list, ${WORKERS} worker processes, window ${WINDOW_MS / 1_000} s:`,
      );
      console.log(`  states ${JSON.stringify(counts)}`);
      console.log(`  calls ${stage.sandbox.calls().length}, credential checks ${checks}, 429s ${refused}`);
      console.log(
        `  took ${(tookMs / 1_000).toFixed(1)} s, the limits allow ${(allowedMs / 1_000).toFixed(1)} s, ratio ${(tookMs / allowedMs).toFixed(2)}`,
      );
      for (const { email, state, message } of exporters.filter((each) => each.state !== 'ready'))
        console.log(`  left behind: ${email} ${state} ${message ?? ''}`);
      const outcomes = await readFile(`${list}.result.csv`, 'utf8');
      const named = outcomes.trim().split('\n').length - 1;
      if (counts['ready'] !== EXPORTERS || checks !== EXPORTERS || refused > 0 || named !== EXPORTERS)
        process.exitCode = 1;
    } finally {
      await workers.stop();
    }
  } finally {
    await stage.stop({ keep: false });
  }
}

void main();
