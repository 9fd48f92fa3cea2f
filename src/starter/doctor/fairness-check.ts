import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { fine, wrong, type CheckResult } from './finding';

/** Large enough to distinguish the first few tasks from the last. */
const CROWD = 20;
/**
 * With fairness a single task behind a crowd waits one or two turns; without it, for the whole crowd. On a busy server
 * it enters the queue while the first tasks are being taken.
 */
const FAIR_WITHIN = CROWD / 2;
const POLL_WITHIN_MS = 10_000;
/**
 * Tasks reach their queue shortly after their start was answered, and not in order. The backlog that a queue reports is
 * some seconds old, so the check waits a short time instead.
 */
const QUEUED_AFTER_MS = 300;

/**
 * Checks whether the server takes turns between fairness keys. No API returns its dynamic configuration, so a separate
 * queue is filled with workflows of one key, then one of another key, and the order in which their tasks come out is
 * observed. No worker polls the queue, so nothing runs; the workflows are terminated, and deleted if the server allows
 * it.
 */
export async function checkFairness(client: Client, namespace: string): Promise<CheckResult> {
  const taskQueue = `ebrc-doctor-${randomUUID()}`;
  const lone = `${taskQueue}/lone`;
  const crowd = Array.from({ length: CROWD }, (_, nth) => `${taskQueue}/${nth}`);
  const start = (workflowId: string, fairnessKey: string) =>
    client.workflow.start('ebrcDoctorProbe', {
      workflowId,
      taskQueue,
      workflowExecutionTimeout: '60s',
      priority: { fairnessKey },
    });
  try {
    await Promise.all(crowd.map((workflowId) => start(workflowId, 'crowd')));
    await sleep(QUEUED_AFTER_MS);
    await start(lone, 'lone');
    await sleep(QUEUED_AFTER_MS);
    const place = await placeOf(client, { namespace, taskQueue, workflowId: lone });
    if (place <= FAIR_WITHIN) return fine('fairness', 'the server takes turns between exporters');
    return wrong(
      'fairness',
      `the server does not take turns: a single task came out behind ${place - 1} of another exporter`,
      'Set matching.useNewMatcher and matching.enableFairness to true, and one partition, in the dynamic configuration of Temporal ' +
        '(docker/temporal/dynamic-config.yaml has them).',
    );
  } finally {
    await Promise.all([lone, ...crowd].map((workflowId) => remove(client, namespace, workflowId)));
  }
}

/** Takes tasks one by one until that of the workflow comes. @returns its place, 1 for the first */
async function placeOf(
  client: Client,
  { namespace, taskQueue, workflowId }: { namespace: string; taskQueue: string; workflowId: string },
): Promise<number> {
  for (let place = 1; place <= CROWD; place += 1) {
    const task = await client.connection.withDeadline(Date.now() + POLL_WITHIN_MS, () =>
      client.workflowService.pollWorkflowTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        identity: 'ebrc doctor',
      }),
    );
    if (task.workflowExecution?.workflowId === workflowId) return place;
  }
  return CROWD + 1;
}

async function remove(client: Client, namespace: string, workflowId: string): Promise<void> {
  const workflowExecution = { workflowId };
  await client.workflow
    .getHandle(workflowId)
    .terminate('probe of ebrc doctor')
    .catch(() => undefined);
  // If deleting is not allowed, they disappear after the namespace's retention.
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }).catch(() => undefined);
}
