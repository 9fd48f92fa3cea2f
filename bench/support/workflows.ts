import { proxyActivities, sleep, upsertSearchAttributes } from '@temporalio/workflow';
import type { RateClass } from '../../src/domain/names';
import { searchAttributes } from '../../src/domain/names';
import type { CallActivities } from './class-workers';

export interface PlannedCall {
  taskQueue: string;
  rateClass: RateClass;
  name: string;
  /** Decides the order among exporters. */
  exporter: string;
}

/** Makes all calls at once and waits for them; answers when each was put into its queue. */
export async function makeCalls(calls: PlannedCall[]): Promise<number[]> {
  return Promise.all(
    calls.map(({ taskQueue, rateClass, name, exporter }) =>
      proxyActivities<CallActivities>({
        taskQueue,
        startToCloseTimeout: '10m',
        heartbeatTimeout: '1m',
        priority: { fairnessKey: exporter },
      }).makeCall({ rateClass, name }),
    ),
  );
}

/** Six activities that do nothing, one after the other: the least that six steps cost. */
export async function takeSixSteps(): Promise<void> {
  const { doNothing } = proxyActivities<{ doNothing: () => Promise<void> }>({ startToCloseTimeout: '1m' });
  for (let step = 0; step < 6; step += 1) await doNothing();
}

/**
 * A filing in the plain way, its PDF apart: an activity for each of 16 steps, four moves of its state in the search
 * attributes, and a timer and an activity for each poll, every 5 minutes over 2 hours.
 */
export async function fileInThePlainWay(): Promise<void> {
  const { doNothing } = proxyActivities<{ doNothing: () => Promise<void> }>({ startToCloseTimeout: '1m' });
  for (let step = 0; step < 10; step += 1) await doNothing();
  for (const state of ['submitting', 'processing', 'collecting', 'certified']) {
    upsertSearchAttributes(searchAttributes({ state }));
  }
  for (let poll = 0; poll < 24; poll += 1) {
    await sleep('5m');
    await doNothing();
  }
  for (let step = 0; step < 6; step += 1) await doNothing();
}
