import { join } from 'node:path';
import { startWorkers } from './workers';
import { fileAll, fileOnceMore, onboardAll } from './filer';
import { repeatLostCommands } from './operators';
import { makePlan } from './plan';
import { seededRandom } from './random';
import { reconcileAll } from './reconciliation';
import { openStage } from './stage';
import type { Scenario } from './scenarios';
import { FIRST_VERSION, makeCurrent, versionOf } from './server-troubles';
import { judgeHistory } from './history/verdict';
import { makeTroubles } from './troubles';
import { judge, type Verdict } from './verdict';
import { readQuestions, watchFilings } from './watch';

export interface RunOptions {
  filings: number;
  exporters: number;
  workers: number;
  seed: number;
  windowMs: number;
  /** From the start of the filings; what is not settled then counts as lost. */
  withinMs: number;
  say: (message: string) => void;
}

const ACK_DELAY_MS = 3_000;
/** No new fault in the last part of the time, so that everything can recover. */
const TROUBLE_PART = 0.4;

/** Hours of the real service in seconds. Everything else about the workers is as in production. */
const VARIABLES = {
  EBRC_HTTP_TIMEOUT: '5s',
  EBRC_POLL_FIRST: '3s',
  EBRC_POLL_MIN: '1s',
  EBRC_POLL_MAX: '5s',
  EBRC_SETTLE_AFTER: '40s',
  EBRC_OVERDUE_AFTER: '5m',
};

export interface ScenarioResult extends Verdict {
  name: string;
  /** What was done to the run, and how often. */
  troubles: [name: string, count: number][];
  tookMs: number;
}

const SHIFT_CLOCK = join(__dirname, 'shift-clock.cjs');
const CLOCKS_APART_MS = 5_000;
const clockOf = (nth: number) => ({ CHAOS_CLOCK_AHEAD_MS: String((nth % 2) * CLOCKS_APART_MS) });

/** Runs one scenario on servers of its own. Keeps their folder, and names it, when something must not be. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<ScenarioResult> {
  const { name, faults } = scenario;
  const { filings, exporters, seed, windowMs, withinMs, say } = options;
  const kinds = new Set(scenario.troubles);
  const plan = makePlan({ filings, exporters, seed });
  const stage = await openStage({
    seed: plan.seed,
    windowMs,
    ackDelayMs: ACK_DELAY_MS,
    oddTexts: kinds.has('odd-texts'),
    durableTemporal: kinds.has('temporal'),
    smallDisk: kinds.has('full-disk'),
    variables: { ...VARIABLES, ...scenario.variables },
    say,
  });
  let keep = true;
  try {
    const versions = kinds.has('versions');
    const workers = await startWorkers({
      size: options.workers,
      env: { ...stage.childEnv, ...(versions ? versionOf(FIRST_VERSION) : {}) },
      folder: stage.folder,
      ...(kinds.has('clocks') ? { preload: SHIFT_CLOCK, envOf: clockOf } : {}),
    });
    let stopped = false;
    try {
      if (versions) await makeCurrent(stage, FIRST_VERSION);
      say(`onboarding ${exporters} exporters`);
      await onboardAll(stage.client, plan.exporters);
      for (const fault of faults) stage.sandbox.addFault(fault);
      say(`starting ${filings} filings`);
      const began = Date.now();
      const deadline = began + withinMs;
      const { pool, client, temporal } = stage;
      const forMs = scenario.troubleMs ?? withinMs * TROUBLE_PART;
      const trouble = makeTroubles({ stage, kinds, workers, filings: plan.filings, seed, forMs, say });
      const operators = kinds.has('operators');
      const restored = kinds.has('restore') || kinds.has('restore-both');
      const repeating = new AbortController();
      const repeated =
        operators || restored
          ? repeatLostCommands({
              temporal,
              pool,
              filings: plan.filings,
              fileAgain: (filing) => fileOnceMore(client, filing),
              signal: repeating.signal,
            })
          : Promise.resolve(0);
      const [report] = await Promise.all([
        fileAll(client, plan.filings, {
          deadline,
          random: seededRandom(seed + 2),
          otherReferences: !operators && !restored,
        }),
        watchFilings({ pool, expected: filings, deadline, say }),
      ]);
      const tookMs = Date.now() - began;
      await trouble.stop();
      repeating.abort();
      const again = await repeated;
      const verdict = await judge(stage, plan, report, { asksNobody: scenario.asksNobody ?? false });
      for (const { reference, attention } of await readQuestions(pool)) say(`${reference}: ${attention}`);
      const history = await judgeHistory(stage, { restored });
      const reconciled = await reconcileAll(stage);
      // How the workers stop is judged too.
      stopped = true;
      await workers.stop();
      const problems = [...verdict.problems, ...history.problems, ...reconciled.problems, ...workers.problems];
      keep = problems.length > 0;
      if (keep) say(`logs and data are kept in ${stage.folder}`);
      const odd = stage.oddAnswers();
      const made = Object.entries({
        ...trouble.counts,
        ...(again > 0 ? { 'commands given again for lost workflows': again } : {}),
        ...(odd === null ? {} : { 'answers with odd texts': odd }),
      });
      const figures: Verdict['figures'] = [
        ...verdict.figures,
        ...history.figures,
        ...reconciled.figures,
        ['workers that ended unasked', workers.problems.length],
      ];
      return { problems, figures: [...figures, ...made], troubles: made, name, tookMs };
    } catch (error) {
      // Printed before everything is stopped, which may fail in turn.
      say(`given up: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}; see ${stage.folder}`);
      throw error;
    } finally {
      if (!stopped) await workers.stop();
    }
  } finally {
    await stage.stop({ keep });
  }
}
