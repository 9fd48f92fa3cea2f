/**
 * Records the histories that the tests replay: `npm run histories:record -- --scenario file-certified`, or `--all`.
 * What is recorded already stays unless `--replace` is given.
 */
import { parseArgs } from 'node:util';
import globalSetup from '../support/jest/global-setup';
import globalTeardown from '../support/jest/global-teardown';
import { openFilingStage } from '../scenes/stage';
import { openStage } from '../workflows/exporter/onboard-stage';
import { startExtractionStage } from '../assistant/extraction-stage';
import { FILING_SCENARIOS } from './filing-scenarios';
import { writeHistory } from './history-files';
import { ONBOARDING_SCENARIOS } from './onboarding-scenarios';
import { ONE_STEP_SCENARIOS } from './one-step-scenarios';
import { startRefusingProxy } from './refusing-proxy';
import type { Scenario } from './scenario';
import { version } from '../../package.json';

const ALL = [...FILING_SCENARIOS, ...ONBOARDING_SCENARIOS, ...ONE_STEP_SCENARIOS].map(({ name }) => name);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string', multiple: true, default: [] },
      all: { type: 'boolean', default: false },
      replace: { type: 'boolean', default: false },
    },
  });
  const wanted = values.all ? ALL : values.scenario;
  const unknown = wanted.filter((name) => !ALL.includes(name));
  if (wanted.length === 0 || unknown.length > 0) {
    throw new Error(
      `${unknown.join(', ') || 'Nothing'} to record. Say --all, or --scenario with one of: ${ALL.join(', ')}`,
    );
  }
  await globalSetup();
  try {
    const { replace } = values;
    const isWanted = ({ name }: { name: string }) => wanted.includes(name);
    await recordFilings(wanted, replace);
    await recordEach(ONBOARDING_SCENARIOS.filter(isWanted), openStage, replace);
    await recordEach(ONE_STEP_SCENARIOS.filter(isWanted), startExtractionStage, replace);
  } finally {
    await globalTeardown();
  }
}

/** Each scenario on a stage of its own: what one leaves behind is no part of another's story. */
async function recordFilings(wanted: readonly string[], replace: boolean): Promise<void> {
  for (const scenario of FILING_SCENARIOS.filter(({ name }) => wanted.includes(name))) {
    const { ackDelayMs, settleAfterMs } = scenario.pace ?? {};
    const proxy = await startRefusingProxy();
    const stage = await openFilingStage({
      sandbox: { ...(ackDelayMs !== undefined && { ackDelayMs }) },
      worker: {
        sandbox: proxy,
        replayEveryTask: false,
        settings: { ...(settleAfterMs !== undefined && { settleAfterMs }) },
      },
    });
    proxy.passOnTo(stage.sandbox.url);
    try {
      await record(scenario, stage, replace);
    } finally {
      await stage.close();
      await proxy.close();
    }
  }
}

/** Each scenario on a stage of its own. */
async function recordEach<Stage extends { close(): Promise<void> }>(
  scenarios: readonly Scenario<Stage>[],
  open: () => Promise<Stage>,
  replace: boolean,
): Promise<void> {
  for (const scenario of scenarios) {
    const stage = await open();
    try {
      await record(scenario, stage, replace);
    } finally {
      await stage.close();
    }
  }
}

async function record<Stage>(scenario: Scenario<Stage>, stage: Stage, replace: boolean): Promise<void> {
  const { name } = scenario;
  const handle = await scenario.play(stage);
  const history = await handle.fetchHistory();
  const file = await writeHistory({ version, scenario: name, workflowId: handle.workflowId, history }, { replace });
  process.stdout.write(`${file}: ${history.events?.length ?? 0} events\n`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
