import type { FaultInput } from '../src/sandbox/fault-schema';
import { startCrew } from './crew';
import { fileAll, onboardAll } from './filer';
import { makePlan } from './plan';
import { seededRandom } from './random';
import { openStage } from './stage';
import { makeTroubles, type TroubleKinds } from './troubles';
import { judge, type Verdict } from './verdict';
import { watchFilings } from './watch';

export interface Scenario {
  name: string;
  faults: readonly FaultInput[];
  troubles: TroubleKinds;
}

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
/** No new trouble in the last part of the time: whatever was hit needs some to recover. */
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
  tookMs: number;
}

/** Runs one scenario on servers of its own. Keeps their folder, and names it, when something must not be. */
export async function runScenario({ name, faults, troubles }: Scenario, options: RunOptions): Promise<ScenarioResult> {
  const { filings, exporters, workers, seed, windowMs, withinMs, say } = options;
  const plan = makePlan({ filings, exporters, seed });
  const stage = await openStage({
    seed: plan.seed,
    windowMs,
    ackDelayMs: ACK_DELAY_MS,
    variables: VARIABLES,
    say,
  });
  let keep = true;
  try {
    const crew = await startCrew({ size: workers, env: stage.childEnv, folder: stage.folder });
    try {
      say(`onboarding ${exporters} exporters`);
      await onboardAll(stage.client, plan.exporters);
      for (const fault of faults) stage.sandbox.addFault(fault);
      say(`starting ${filings} filings`);
      const began = Date.now();
      const deadline = began + withinMs;
      const random = seededRandom(seed + 1);
      const { pool, sandbox } = stage;
      const forMs = withinMs * TROUBLE_PART;
      const trouble = makeTroubles({ kinds: troubles, crew, pool, sandbox, random, forMs, say });
      const [report] = await Promise.all([
        fileAll(stage.client, plan.filings, { deadline, random: seededRandom(seed + 2) }),
        watchFilings({ pool, expected: filings, deadline, say }),
      ]);
      const tookMs = Date.now() - began;
      await trouble.stop();
      const verdict = await judge(stage, plan, report);
      keep = verdict.problems.length > 0;
      if (keep) say(`logs and data are kept in ${stage.folder}`);
      const made = Object.entries(trouble.counts);
      return { ...verdict, figures: [...verdict.figures, ...made], name, tookMs };
    } finally {
      await crew.stop();
    }
  } finally {
    await stage.stop({ keep });
  }
}
