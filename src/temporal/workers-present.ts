import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';

/** No worker is running that could carry out the request. */
export class NoWorkerError extends Error {
  override readonly name = 'NoWorkerError';
  constructor(taskQueue: string) {
    super(
      `No worker polls task queue ${taskQueue}. Start one (node dist/worker.js) and repeat the command; that is safe.`,
    );
  }
}

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

/** Whether a worker has polled the task queue in the last minutes; null if the server does not report it. */
async function workersPresent(client: Client, taskQueue: string): Promise<boolean | null> {
  try {
    return (await pollersOf(client, taskQueue, 'workflow')) > 0;
  } catch {
    return null;
  }
}

/** The message for a user whose workflow does not answer. */
export async function silenceNotice(client: Client, taskQueue: string): Promise<string> {
  return (await workersPresent(client, taskQueue)) === false
    ? `No worker polls task queue ${taskQueue}: the workflow is started, and continues as soon as a worker runs (node dist/worker.js).`
    : `No worker has answered yet on task queue ${taskQueue}; the workflow is started and continues by itself.`;
}

const LOOK_EVERY_MS = 5_000;
/** Checks without a worker before the call is given up: a worker may just be starting. */
const LOOKS = 6;

/** The task queue and the interval of the checks for a worker. */
export interface WorkerWatch {
  temporal: Client;
  taskQueue: string;
  /** Interval of the checks; default 5 s. */
  lookForWorkerEveryMs?: number;
}

/**
 * Makes a call that only a worker can answer, and gives it up once no worker can be found: otherwise the caller would
 * wait without any message. @throws NoWorkerError
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
