import type { WorkerSettings } from '../../src/activities/dependencies';

const HOUR = 3_600_000;

/** The default settings of tests. */
export const TEST_SETTINGS: WorkerSettings = {
  httpTimeoutMs: 5_000,
  rateWindowMs: 60_000,
  overdueAfterMs: 4 * HOUR,
  settleAfterMs: 4 * HOUR,
  historyMs: 550 * 24 * HOUR,
  pollFirstMs: 20 * 60_000,
  pollMinMs: 60_000,
  pollMaxMs: 15 * 60_000,
  singlePerson: false,
};
