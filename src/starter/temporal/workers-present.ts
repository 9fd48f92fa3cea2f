import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { NoWorkerError } from '../errors';

/** `temporal.api.enums.v1.TaskQueueType`. */
const QUEUE_TYPES = { workflow: 1, activity: 2 } as const;

/** How many pollers a task queue had in the last minutes. */
export async function pollersOf(client: Client, name: string, type: keyof typeof QUEUE_TYPES): Promise<number> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name },
    taskQueueType: QUEUE_TYPES[type],
  });
  return (pollers ?? []).length;
}

/** Whether a worker has polled the task queue in the last minutes; null when the server does not say. */
async function workersPresent(client: Client, taskQueue: string): Promise<boolean | null> {
  try {
    return (await pollersOf(client, taskQueue, 'workflow')) > 0;
  } catch {
    return null;
  }
}

/** What to tell somebody whose workflow does not answer. */
export async function silenceNotice(client: Client, taskQueue: string): Promise<string> {
  return (await workersPresent(client, taskQueue)) === false
    ? `No worker polls task queue ${taskQueue}: it is started, and goes on as soon as a worker runs (node dist/worker.js).`
    : `No worker has answered yet on task queue ${taskQueue}; it is started and goes on by itself.`;
}

const LOOK_EVERY_MS = 5_000;
/** Looks without a worker before the call is given up: one may be starting at this moment. */
const LOOKS = 6;

/** Where a worker is looked for while a call waits for one. */
export interface WorkerWatch {
  temporal: Client;
  taskQueue: string;
  /** Time between two looks; default 5 s. */
  lookForWorkerEveryMs?: number;
}

/**
 * Makes a call that only a worker can answer, and gives it up once it is plain that none runs: without this the caller
 * would wait in silence. @throws NoWorkerError
 */
export async function answeredByWorker<T>(
  { temporal: client, taskQueue, lookForWorkerEveryMs = LOOK_EVERY_MS }: WorkerWatch,
  call: () => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const watch = async (): Promise<never> => {
    for (let missing = 0; missing < LOOKS;) {
      await sleep(lookForWorkerEveryMs, undefined, { signal: stop.signal });
      missing = (await workersPresent(client, taskQueue)) === false ? missing + 1 : 0;
    }
    throw new NoWorkerError(taskQueue);
  };
  try {
    return await Promise.race([client.workflow.withAbortSignal(stop.signal, call), watch()]);
  } finally {
    stop.abort();
  }
}
