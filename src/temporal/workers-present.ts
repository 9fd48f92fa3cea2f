import type { Client } from '@temporalio/client';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcStatus } from './grpc-status';

/** No worker is running that could carry out the request. */
export class NoWorkerError extends Error {
  override readonly name = 'NoWorkerError';
  constructor(taskQueue: string) {
    super(
      `No worker takes tasks of ${taskQueue}. Start one (node dist/worker.js), or restart the one that is stuck, and repeat the command; that is safe.`,
    );
  }
}

/** `temporal.api.enums.v1.TaskQueueType`. */
const QUEUE_TYPES = { workflow: 1, activity: 2 } as const;

/** A poll ends after a minute: a worker that has not polled for longer is gone or frozen. The server's times. */
const POLLS_WITHIN_MS = 2 * 60_000;

/** A server that takes a request and says nothing would be waited for without end. */
const ANSWERS_WITHIN_MS = 5_000;

/** How many pollers a task queue has. */
export async function pollersOf(client: Client, name: string, type: keyof typeof QUEUE_TYPES): Promise<number> {
  const { pollers } = await client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name },
      taskQueueType: QUEUE_TYPES[type],
    }),
  );
  const since = Date.now() - POLLS_WITHIN_MS;
  return (pollers ?? []).filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? Infinity) * 1_000 > since)
    .length;
}

/** Whether a worker has polled the task queue in the last minutes; null if the server does not report it. */
async function workersPresent(client: Client, taskQueue: string): Promise<boolean | 'silent' | null> {
  try {
    return (await pollersOf(client, taskQueue, 'workflow')) > 0;
  } catch (error) {
    // A refusal, such as of a key that may not ask for workers, says nothing of the workflow.
    return isGrpcStatus(error, 'DEADLINE_EXCEEDED', 'UNAVAILABLE') ? 'silent' : null;
  }
}

export const TEMPORAL_SILENT =
  'Temporal does not answer, or too slowly: it is not known whether what was asked is under way. Repeat the command when it answers; that files nothing twice.';

/** Temporal took a request and did not say what became of it. */
export class TemporalSilentError extends Error {
  override readonly name = 'TemporalSilentError';
  constructor() {
    super(TEMPORAL_SILENT);
  }
}

/** The message for a user whose workflow does not answer. */
export async function silenceNotice(client: Client, taskQueue: string): Promise<string> {
  const present = await workersPresent(client, taskQueue);
  if (present === 'silent') return TEMPORAL_SILENT;
  return present === false
    ? `No worker polls task queue ${taskQueue}: the workflow is started, and continues as soon as a worker runs (node dist/worker.js).`
    : `No worker has answered yet on task queue ${taskQueue}; the workflow is started and continues automatically.`;
}

const LOOK_EVERY_MS = 5_000;
/** Checks without a worker before the call is given up: a worker may just be starting, or be busy. */
const LOOKS = 6;

export interface WorkerWatch {
  temporal: Client;
  taskQueue: string;
  lookForWorkerEveryMs?: number;
}

/** A call that only a worker can answer, given up once no worker polls or takes the task. @throws NoWorkerError */
export async function answeredByWorker<T>(
  { temporal: client, taskQueue, lookForWorkerEveryMs = LOOK_EVERY_MS }: WorkerWatch,
  workflowId: string,
  call: () => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  // Every call of a long poll adds a listener to it, which Node would report as a leak.
  setMaxListeners(0, stop.signal);
  const watch = async (): Promise<never> => {
    for (let missing = 0; missing < LOOKS;) {
      await sleep(lookForWorkerEveryMs, undefined, { signal: stop.signal });
      const idle = (await workersPresent(client, taskQueue)) === false || (await isUntaken(client, workflowId));
      missing = idle ? missing + 1 : 0;
    }
    throw new NoWorkerError(taskQueue);
  };
  try {
    return await Promise.race([client.workflow.withAbortSignal(stop.signal, call), watch()]);
  } finally {
    stop.abort();
  }
}

/** Whether the workflow has a task that no worker takes, or that one took and did not finish. */
async function isUntaken(client: Client, workflowId: string): Promise<boolean> {
  try {
    const { raw } = await client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    const { pendingWorkflowTask: task } = raw;
    return Boolean(task && (!task.startedTime || Number(task.attempt) > 1));
  } catch {
    // The call itself says what is wrong.
    return false;
  }
}

/** Waits for what the first worker leaves behind at its start. @throws NoWorkerError if it does not come */
export async function waitForFirstWorker(
  { taskQueue, lookForWorkerEveryMs = LOOK_EVERY_MS }: WorkerWatch,
  isThere: () => Promise<boolean>,
): Promise<void> {
  for (const until = Date.now() + LOOKS * lookForWorkerEveryMs; !(await isThere());) {
    if (Date.now() > until) throw new NoWorkerError(taskQueue);
    await sleep(lookForWorkerEveryMs / 10);
  }
}
