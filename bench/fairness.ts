/**
 * One exporter's single PDF behind another's 200, with one worker process: how many of the 200 reach the service
 * between the single one being put into its queue and its turn. It comes at various points of the window. Fast answers,
 * and answers so slow that calls overlap. Once, for comparison, on a server with Temporal's own settings.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/common';
import { queueOfClass } from '../src/domain/names';
import { startBenchStack, type BenchStack } from './support/bench-stack';
import { classWorkersOf, startClassWorkers } from './support/class-workers';
import { startLimitedServer, type LimitedServer } from './support/limited-server';
import type { PlannedCall } from './support/workflows';

const WINDOW_MS = 3_000;
const CROWD = 200;
/** For each round: downloads of the crowd that are through before the single one comes. */
const HEAD_STARTS = [5, 6, 7, 8, 9, 10];
const MAX_SLOTS = 3;

/** What a namespace has where nobody sets anything: no fairness, four partitions of a task queue. */
const WITHOUT = {
  'matching.useNewMatcher': false,
  'matching.enableFairness': false,
  'matching.numTaskqueueReadPartitions': 4,
  'matching.numTaskqueueWritePartitions': 4,
};

async function main(): Promise<void> {
  const fair = await startBenchStack();
  try {
    const fast = await waits(fair, 'fast answers', 5, HEAD_STARTS);
    const slow = await waits(fair, 'slow answers', WINDOW_MS / 3, HEAD_STARTS);
    if (Math.max(fast, slow) > MAX_SLOTS) process.exitCode = 1;
  } finally {
    await fair.stop();
  }
  const unfair = await startBenchStack(WITHOUT);
  try {
    await waits(unfair, 'without fairness', 5, HEAD_STARTS.slice(0, 1));
  } finally {
    await unfair.stop();
  }
}

/** The most slots that the single download waited; a refused call fails the bench. */
async function waits(stack: BenchStack, what: string, answerMs: number, headStarts: number[]): Promise<number> {
  const passed: number[] = [];
  let refused = 0;
  for (const headStart of headStarts) {
    const service = await startLimitedServer({ windowMs: WINDOW_MS, answerMs: () => answerMs });
    const workers = await startClassWorkers(
      classWorkersOf(stack, service, { windowMs: WINDOW_MS, rateClasses: ['pdf'] }),
    );
    passed.push(await slotsBefore(stack, service, headStart));
    await workers.stop();
    await service.close();
    refused += service.calls.filter((call) => call.refused).length;
  }
  console.log(`fairness, 1 process, 1 PDF behind ${CROWD} of another exporter, ${what} (${answerMs} ms):`);
  console.log(`  slots waited in ${headStarts.length} rounds: ${passed.join(' ')}; 429s ${refused}`);
  if (refused > 0) process.exitCode = 1;
  return Math.max(...passed);
}

async function slotsBefore(stack: BenchStack, service: LimitedServer, headStart: number): Promise<number> {
  const crowd = await handOver(stack, downloads('crowd', CROWD));
  while (service.calls.length < headStart) await sleep(5);
  const single = await handOver(stack, downloads('single', 1));
  const [queuedAt] = (await single.result()) as [number];
  // Without fairness the single one comes last: the crowd has ended by then.
  await crowd.terminate('the bench has seen enough').catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
  const turn = service.calls.findIndex(({ name }) => name.startsWith('single'));
  return service.calls.slice(0, turn).filter(({ date }) => date > queuedAt).length;
}

function handOver(stack: BenchStack, calls: PlannedCall[]) {
  return stack.client.workflow.start('makeCalls', {
    taskQueue: 'bench',
    workflowId: `fairness-${randomUUID()}`,
    args: [calls],
  });
}

function downloads(exporter: string, count: number): PlannedCall[] {
  const taskQueue = queueOfClass('bench', 'pdf');
  return Array.from({ length: count }, (_, nth) => ({
    taskQueue,
    rateClass: 'pdf',
    name: `${exporter}-${nth}`,
    exporter,
  }));
}

void main();
