import { gate } from '../support/gate';
import type { TestWorkerOptions } from '../support/worker';
import { gatedPool, type Gate } from './gated-pool';
import { openFilingStage, type FilingStage, type FilingStageOptions } from './stage';

/** One stage for a whole test file. After each test its faults are gone, and nothing may have been filed twice. */
export function useFilingStage(options: FilingStageOptions = {}): FilingStage {
  const stage = {} as FilingStage;
  beforeAll(async () => {
    Object.assign(stage, await openFilingStage(options));
  });
  afterEach(() => {
    stage.sandbox?.clearFaults();
    stage.service?.clear();
    expect(stage.sandbox?.doubleFilings()).toEqual([]);
  });
  afterAll(() => stage.close?.());
  return stage;
}

/**
 * An authority that has answered when it is asked first: an unknown outcome is looked into every ten minutes, and each
 * look costs the test real time.
 */
export const QUICK_AUTHORITY: FilingStageOptions = {
  sandbox: { ackDelayMs: 4 * 60_000 },
  worker: { settings: { httpTimeoutMs: 3_000, pollFirstMs: 5 * 60_000 } },
};

/** The same with a gate on its worker's way to PostgreSQL, which is open at the end of each test. */
export function useGatedStage(): { stage: FilingStage; way: Gate } {
  const way: Gate = { down: false, atCommit: null };
  const adjust: TestWorkerOptions['adjust'] = (deps) => ({ ...deps, pool: gatedPool(deps.pool, way) });
  const worker = { ...QUICK_AUTHORITY.worker, adjust };
  const stage = useFilingStage({ ...QUICK_AUTHORITY, worker });
  afterEach(() => Object.assign(way, { down: false, atCommit: null }));
  return { stage, way };
}

/** A point at which a worker freezes until it is thawed. */
export function freezer(): { freeze: () => Promise<void>; reached: Promise<void>; thaw: () => void } {
  const [arrived, thawed] = [gate(), gate()];
  const freeze = () => {
    arrived.open();
    return thawed.passed;
  };
  return { freeze, reached: arrived.passed, thaw: thawed.open };
}
