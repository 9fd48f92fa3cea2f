import { proxyActivities } from '@temporalio/workflow';
import type { RateClass } from '../../src/domain/names';
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
