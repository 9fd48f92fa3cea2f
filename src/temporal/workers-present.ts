import type { Client } from '@temporalio/client';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcStatus } from './grpc-status';

/** No worker takes tasks of the task queue. */
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

/** `temporal.api.enums.v1.WorkerVersioningMode`: tasks come by version. */
const VERSIONED = 2;

/** A poll ends after a minute, so a worker without a poll for longer is gone or frozen. By the server's clock. */
const POLLS_WITHIN_MS = 2 * 60_000;

/** Deadline of a call, because a server may accept a request and never answer. */
const ANSWERS_WITHIN_MS = 5_000;

async function describeQueue(client: Client, name: string, type: keyof typeof QUEUE_TYPES) {
  const { pollers, versioningInfo } = await client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name },
      taskQueueType: QUEUE_TYPES[type],
    }),
  );
  const since = Date.now() - POLLS_WITHIN_MS;
  const recent = (pollers ?? []).filter(
    ({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? Infinity) * 1_000 > since,
  );
  return { pollers: recent, current: versioningInfo?.currentDeploymentVersion?.buildId };
}

/** The number of recent pollers of a task queue. */
export async function pollersOf(client: Client, name: string, type: keyof typeof QUEUE_TYPES): Promise<number> {
  return (await describeQueue(client, name, type)).pollers.length;
}

/**
 * The version that gets the workflow tasks of a queue, and those whose workers polled it lately; null: workers without
 * a version.
 */
export async function versionsOf(
  client: Client,
  name: string,
): Promise<{ current: string | null; polling: (string | null)[] }> {
  const { pollers, current } = await describeQueue(client, name, 'workflow');
  const polling = pollers.map(({ deploymentOptions: of }) =>
    of && Number(of.workerVersioningMode) === VERSIONED ? (of.buildId ?? null) : null,
  );
  return { current: current || null, polling: [...new Set(polling)] };
}

/** Whether a worker polled the task queue lately; `silent`: the server does not answer; null: unknown. */
async function workersPresent(client: Client, taskQueue: string): Promise<boolean | 'silent' | null> {
  try {
    return (await pollersOf(client, taskQueue, 'workflow')) > 0;
  } catch (error) {
    // A refusal, such as a key without this permission, says nothing about workers.
    return isGrpcStatus(error, 'DEADLINE_EXCEEDED', 'UNAVAILABLE') ? 'silent' : null;
  }
}

export const TEMPORAL_SILENT =
  'Temporal does not answer, or too slowly: it is not known whether the request is under way. Repeat the command when it answers; that files nothing twice.';

/** Temporal did not answer a request, so it is unknown whether it was carried out. */
export class TemporalSilentError extends Error {
  override readonly name = 'TemporalSilentError';
  constructor() {
    super(TEMPORAL_SILENT);
  }
}

/** The message for a user whose workflow, or any, does not answer. */
export async function silenceNotice(client: Client, ours: string, workflowId?: string): Promise<string> {
  const taskQueue = workflowId === undefined ? ours : await queueOf(client, workflowId, ours);
  const present = await workersPresent(client, taskQueue);
  if (present === 'silent') return TEMPORAL_SILENT;
  if (taskQueue !== ours)
    return `The workflow runs on task queue ${taskQueue}, where no worker answers, and not on ${ours}: a program with another EBRC_TASK_QUEUE started it. Terminate ${workflowId} in the Temporal UI and repeat the command; that files nothing twice.`;
  return present === false
    ? `No worker polls task queue ${taskQueue}: the workflow is started, and continues as soon as a worker runs (node dist/worker.js).`
    : `No worker has answered yet on task queue ${taskQueue}; the workflow is started and continues automatically.`;
}

const LOOK_EVERY_MS = 5_000;
/** Number of checks without a worker before a call is given up, because a worker may be starting or busy. */
const LOOKS = 6;

/** Makes a call that only a worker can answer. @throws NoWorkerError if no worker polls or takes the task */
export async function answeredByWorker<T>(
  of: { temporal: Client; taskQueue: string; lookForWorkerEveryMs?: number },
  workflowId: string,
  call: () => Promise<T>,
): Promise<T> {
  const { temporal: client, taskQueue, lookForWorkerEveryMs = LOOK_EVERY_MS } = of;
  const stop = new AbortController();
  // Each call of a long poll adds a listener, which Node would report as a leak.
  setMaxListeners(0, stop.signal);
  const watch = async (): Promise<never> => {
    for (let missing = 0; missing < LOOKS;) {
      await sleep(lookForWorkerEveryMs, undefined, { signal: stop.signal });
      const idle = (await workersPresent(client, taskQueue)) === false || (await isUntaken(client, workflowId));
      missing = idle ? missing + 1 : 0;
    }
    throw new NoWorkerError(await queueOf(client, workflowId, taskQueue));
  };
  try {
    return await Promise.race([client.workflow.withAbortSignal(stop.signal, call), watch()]);
  } finally {
    stop.abort();
  }
}

const describe = (client: Client, workflowId: string) =>
  client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, () => client.workflow.getHandle(workflowId).describe());

/** The workflow's queue, which differs if its starter had another EBRC_TASK_QUEUE; `ours` if it cannot be read. */
const queueOf = (client: Client, workflowId: string, ours: string): Promise<string> =>
  describe(client, workflowId).then(
    ({ taskQueue }) => taskQueue,
    () => ours,
  );

/** Whether the workflow has a task that no worker took, or whose last attempt did not finish. */
async function isUntaken(client: Client, workflowId: string): Promise<boolean> {
  try {
    const { raw } = await describe(client, workflowId);
    const { pendingWorkflowTask: task } = raw;
    return Boolean(task && (!task.startedTime || Number(task.attempt) > 1));
  } catch {
    // The call itself will fail with the reason.
    return false;
  }
}

/** Waits until `isThere` finds what the first worker creates at its start. @throws NoWorkerError if it does not */
export async function waitForFirstWorker(
  { taskQueue, lookForWorkerEveryMs = LOOK_EVERY_MS }: { taskQueue: string; lookForWorkerEveryMs?: number },
  isThere: () => Promise<boolean>,
): Promise<void> {
  for (const until = Date.now() + LOOKS * lookForWorkerEveryMs; !(await isThere());) {
    if (Date.now() > until) throw new NoWorkerError(taskQueue);
    await sleep(lookForWorkerEveryMs / 10);
  }
}
