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

/**
 * An authority that answers within minutes: an unknown outcome is looked into every ten minutes, and each look costs
 * the test real time.
 */
export const QUICK_AUTHORITY: FilingStageOptions = {
  sandbox: { ackDelayMs: 5 * 60_000 },
  worker: { settings: { httpTimeoutMs: 3_000, pollFirstMs: 5 * 60_000 } },
};
