import { join } from 'node:path';
import { startWorkers, type Workers } from './workers';
import { callerOf, fileAll, fileOnceMore, onboardAll, type FilerReport } from './filer';
import { openHttpApis, type HttpApis } from './http-apis';
import { repeatLostCommands } from './disruptions/operators';
import { makePlan, type Plan } from './plan';
import { seededRandom } from './random';
import { reconcileAll } from './reconciliation';
import { openStage, type Stage } from './stage';
import { startOddTexts, type OddTexts } from './disruptions/odd-texts';
import { openWebhooks } from './disruptions/webhooks';
import type { Scenario } from './scenarios';
import { FIRST_VERSION, makeCurrent, versionOf } from './disruptions/servers';
import { startDisruptions } from './disruptions/disruptions';
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
/** The part of the time in which disruptions begin; in the rest of it everything can recover. */
const DISRUPTED_SHARE = 0.4;

/** Hours of the real service in seconds. Everything else about the workers is as in production. */
const VARIABLES = {
  EBRC_HTTP_TIMEOUT: '5s',
  EBRC_POLL_FIRST: '3s',
  EBRC_POLL_MIN: '1s',
  EBRC_POLL_MAX: '5s',
  EBRC_SETTLE_AFTER: '40s',
  EBRC_OVERDUE_AFTER: '2m',
};

export interface ScenarioResult extends Verdict {
  name: string;
  /** What was done to the run, and how often. */
  disruptions: [name: string, count: number][];
  tookMs: number;
}

const SHIFT_CLOCK = join(__dirname, 'disruptions', 'shift-clock.cjs');
const WRONG_BUNDLE = join(__dirname, 'disruptions', 'wrong-bundle.cjs');
const CLOCKS_APART_MS = 5_000;
const clockOf = (nth: number) => ({ CHAOS_CLOCK_AHEAD_MS: String((nth % 2) * CLOCKS_APART_MS) });

interface Run {
  scenario: Scenario;
  options: RunOptions;
  plan: Plan;
  stage: Stage;
  workers: Workers;
  /** Null where the filings come by the typed client. */
  httpApis: HttpApis | null;
  /** Null where the service's answers are not changed. */
  odd: OddTexts | null;
}

/** Runs one scenario on servers of its own. Keeps their folder, and logs its path, when a check fails. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<ScenarioResult> {
  const { filings, exporters, seed, say } = options;
  const kinds = new Set(scenario.disruptions);
  const plan = makePlan({ filings, exporters, seed });
  let odd: OddTexts | null = null;
  const front = async (url: string) => (odd = await startOddTexts(url));
  const stage = await openStage({
    seed: plan.seed,
    windowMs: options.windowMs,
    ackDelayMs: ACK_DELAY_MS,
    ...(kinds.has('odd-texts') ? { front } : {}),
    durableTemporal: kinds.has('temporal') || kinds.has('temporal-lost'),
    smallDisk: kinds.has('full-disk'),
    variables: { ...VARIABLES, ...scenario.variables },
    say,
  });
  let keep = true;
  try {
    const workers = await startWorkers({
      size: options.workers,
      env: { ...stage.childEnv, ...(kinds.has('versions') ? versionOf(FIRST_VERSION) : {}) },
      folder: stage.folder,
      ...(kinds.has('bad-deployment') ? { preload: WRONG_BUNDLE } : {}),
      ...(kinds.has('clocks') ? { preload: SHIFT_CLOCK, envOf: clockOf } : {}),
    });
    let httpApis: HttpApis | null = null;
    try {
      httpApis = kinds.has('http-api') ? await openHttpApis(stage) : null;
      const result = await fileAndJudge({ scenario, options, plan, stage, workers, httpApis, odd });
      keep = result.problems.length > 0;
      if (keep) say(`logs and data are kept in ${stage.folder}`);
      return result;
    } catch (error) {
      // Printed before everything is stopped, which may fail in turn.
      say(`given up: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}; see ${stage.folder}`);
      throw error;
    } finally {
      await httpApis?.processes.stop();
      await workers.stop();
    }
  } finally {
    await stage.stop({ keep });
  }
}

/** Stops the workers too, because how they stop is judged. */
async function fileAndJudge(run: Run): Promise<ScenarioResult> {
  const { scenario, plan, stage, workers, httpApis, options } = run;
  const { say } = options;
  if (scenario.disruptions.includes('versions')) await makeCurrent(stage, FIRST_VERSION);
  say(`onboarding ${options.exporters} exporters`);
  await onboardAll(stage.client, plan.exporters);
  const webhooks = scenario.disruptions.includes('webhooks') ? await openWebhooks(stage) : null;
  for (const fault of scenario.faults) stage.sandbox.addFault(fault);
  say(`starting ${options.filings} filings`);
  const began = Date.now();
  const { report, done, failed } = await fileWhileDisrupted(run);
  const tookMs = Date.now() - began;

  const verdict = await judge(stage, plan, report, scenario);
  for (const { reference, attention } of await readQuestions(stage.pool)) say(`${reference}: ${attention}`);
  const seen = [await reconcileAll(stage), await httpApis?.judge(), await webhooks?.judge()].filter(
    (one) => one !== undefined,
  );
  await httpApis?.processes.stop();
  await workers.stop();
  return {
    name: scenario.name,
    tookMs,
    disruptions: done,
    problems: [...failed, ...verdict.problems, ...seen.flatMap(({ problems }) => problems), ...workers.problems],
    figures: [
      ...verdict.figures,
      ...seen.flatMap(({ figures }) => figures),
      ['workers that exited unexpectedly', workers.problems.length],
      ...done,
    ],
  };
}

/** Files the whole plan and waits for its ends. @returns what the filer saw, and which disruptions were made */
async function fileWhileDisrupted({
  scenario,
  options,
  plan,
  stage,
  workers,
  httpApis,
  odd,
}: Run): Promise<{ report: FilerReport; done: ScenarioResult['disruptions']; failed: string[] }> {
  const { filings, seed, withinMs, say } = options;
  const { pool, client, temporal } = stage;
  const caller = httpApis?.caller ?? callerOf(client);
  const deadline = Date.now() + withinMs;
  const disruptions = startDisruptions({
    stage,
    kinds: new Set(scenario.disruptions),
    workers,
    httpApis: httpApis?.processes ?? null,
    filings: plan.filings,
    seed,
    forMs: scenario.disruptForMs ?? withinMs * DISRUPTED_SHARE,
    say,
  });
  // These lose workflows, or free the rows of filings that were not sent.
  const kinds = new Set<string>(scenario.disruptions);
  const temporalLost = kinds.has('temporal-lost');
  const losesWorkflows = temporalLost || ['operators', 'restore'].some((kind) => kinds.has(kind));
  const repeating = new AbortController();
  const repeated = losesWorkflows
    ? repeatLostCommands({
        temporal,
        pool,
        filings: plan.filings,
        // The command of a filing that the ledger does not have yet may be lost as well.
        absentIsLost: temporalLost,
        fileAgain: (filing) => fileOnceMore(caller, filing),
        signal: repeating.signal,
      })
    : Promise.resolve(0);
  let expected = Infinity;
  const allFiled = fileAll(caller, plan.filings, {
    deadline,
    random: seededRandom(seed + 2),
    otherReferences: !losesWorkflows,
  }).then((report) => {
    expected = filings - report.refused.length - report.refusedTwins.length;
    return report;
  });
  const [report] = await Promise.all([
    allFiled,
    watchFilings({ pool, expected: () => expected, deadline, say }),
  ]).finally(() => {
    // Whatever went wrong: nothing is done to servers that are stopped afterwards.
    repeating.abort();
    return disruptions.stop();
  });
  const again = await repeated;
  const done = Object.entries({
    ...disruptions.counts,
    ...(again > 0 ? { 'commands given again for lost workflows': again } : {}),
    ...(odd === null ? {} : { 'answers with odd texts': odd.changed() }),
  });
  return { report, done, failed: disruptions.failed };
}
