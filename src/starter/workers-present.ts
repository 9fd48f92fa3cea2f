import type { Client } from '@temporalio/client';

/** TASK_QUEUE_TYPE_WORKFLOW of Temporal's API. */
const WORKFLOW_QUEUE = 1;

/** Whether a worker has polled the task queue in the last minutes; null when the server does not say. */
export async function workersPresent(client: Client, taskQueue: string): Promise<boolean | null> {
  try {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: WORKFLOW_QUEUE,
    });
    return (pollers ?? []).length > 0;
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
