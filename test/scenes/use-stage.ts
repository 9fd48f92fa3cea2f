import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { TemporalServerOptions } from '../../dev/temporal-server';
import { devServer, type DevServer } from '../support/temporal';
import type { TestWorkerOptions } from '../support/worker';
import { openFilingStage, type FilingStage, type FilingStageOptions } from './stage';

/** One stage for a whole test file. After each test its faults are gone, and nothing may have been filed twice. */
export function useFilingStage(options: FilingStageOptions = {}): FilingStage {
  const stage = {} as FilingStage;
  beforeAll(async () => {
    Object.assign(stage, await openFilingStage(options));
  });
  nothingIsFiledTwice(stage);
  afterAll(() => stage.close?.());
  return stage;
}

/** After each test its faults are gone, and nothing may have been filed twice. */
export function nothingIsFiledTwice(stage: FilingStage): void {
  afterEach(() => {
    stage.sandbox?.clearFaults();
    stage.service?.clear();
    expect(stage.sandbox?.doubleFilings()).toEqual([]);
  });
}

export const IN_REAL_TIME = {
  ...{ httpTimeoutMs: 3_000, rateWindowMs: 20 },
  ...{ pollFirstMs: 300, pollMinMs: 300, pollMaxMs: 600 },
};

/**
 * One stage for a whole test file on a real server, where time is real: an authority that answers within a third of a
 * second. For what the time-skipping server cannot do: resets, terminations, calls that are cancelled under way.
 */
export function useRealServerStage({
  settings,
  worker,
  ...server
}: TemporalServerOptions & Pick<TestWorkerOptions, 'settings'> & Pick<FilingStageOptions, 'worker'> = {}): FilingStage {
  let running: DevServer | undefined;
  const stage = {} as FilingStage;
  beforeAll(async () => {
    running = await devServer(server);
    const { address, namespace } = running;
    const opened = await openFilingStage({
      env: await TestWorkflowEnvironment.createFromExistingServer({ address, namespace }),
      sandbox: { ackDelayMs: 300 },
      worker: { ...worker, settings: { ...IN_REAL_TIME, ...settings } },
    });
    Object.assign(stage, opened);
  });
  nothingIsFiledTwice(stage);
  afterAll(async () => {
    await stage.close?.();
    await running?.stop();
  });
  return stage;
}

/**
 * An authority that answers within minutes: an unknown outcome is looked into every ten minutes, and each look costs
 * the test real time.
 */
export const QUICK_AUTHORITY: FilingStageOptions = {
  sandbox: { ackDelayMs: 5 * 60_000 },
  worker: { settings: { httpTimeoutMs: 3_000, pollFirstMs: 5 * 60_000 } },
};

/**
 * Acknowledgements after an hour, overdue after three. The settle window is short: every round of evidence costs the
 * test real time.
 */
export const SHORT_SETTLE: FilingStageOptions = {
  sandbox: { ackDelayMs: 60 * 60_000 },
  worker: { settings: { httpTimeoutMs: 3_000, settleAfterMs: 30_000, overdueAfterMs: 3 * 60 * 60_000 } },
};
