/**
 * Drains 30 PDF downloads, 40 status calls and 20 pushes of one key with two worker processes (and, for comparison,
 * with one) against a service that enforces its limits over a shortened window: fast answers first, then slow ones.
 *
 * Ratio: from the calls being handed to Temporal to the last answer, by what the limits allow (whole windows that the
 * fullest class must wait, and one answer). Lateness: how much later than its place allows the worst call reached the
 * service.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { queueOfClass, RATE_LIMITS, type RateClass } from '../src/domain/names';
import { keepProcess } from '../dev/kept-process';
import { startBenchStack, type BenchStack } from './support/bench-stack';
import { classWorkersOf, type ClassWorkersOptions } from './support/class-workers';
import { startLimitedServer, type SeenCall } from './support/limited-server';
import type { PlannedCall } from './support/workflows';

const WINDOW_MS = 12_000;
/** Worker processes are up and polling long before work comes. */
const SETTLE_MS = 3_000;
/** The same part of the window as in production, so that its price shows: 2 s of 60 s. */
const GUARD_MS = WINDOW_MS / 30;
const CALLS = { pdf: 30, api: 40, push: 20 } as const;
const TARGET = 1.05;

const rateClasses = Object.keys(CALLS) as (keyof typeof CALLS)[];

async function main(): Promise<void> {
  const stack = await startBenchStack();
  try {
    await drain(stack, { processes: 2, answers: 'fast answers', answerMs: 5 });
    await drain(stack, { processes: 2, answers: 'slow answers', answerMs: WINDOW_MS / 8 });
    await drain(stack, { processes: 1, answers: 'fast answers', answerMs: 5 });
  } finally {
    await stack.stop();
  }
}

async function drain(stack: BenchStack, round: { processes: number; answers: string; answerMs: number }) {
  const { processes: count, answers, answerMs } = round;
  const service = await startLimitedServer({ windowMs: WINDOW_MS, answerMs: () => answerMs });
  const options = classWorkersOf(stack, service, { windowMs: WINDOW_MS, guardMs: GUARD_MS, rateClasses });
  const processes = await Promise.all(Array.from({ length: count }, () => startProcess(options)));
  await sleep(SETTLE_MS);
  const from = performance.now();
  await stack.client.workflow.execute('makeCalls', {
    taskQueue: 'bench',
    workflowId: `budget-${randomUUID()}`,
    args: [plan()],
  });
  const tookMs = performance.now() - from;
  await Promise.all(processes.map((process) => process.stop()));
  await service.close();

  const allowedMs = Math.max(...rateClasses.map((name) => waitOf(name, CALLS[name] - 1))) + answerMs;
  const ratio = tookMs / allowedMs;
  const refused = service.calls.filter((call) => call.refused).length;
  console.log(`budget, worker processes: ${count}, window ${WINDOW_MS / 1000} s, ${answers} (${answerMs} ms):`);
  console.log(`  calls ${service.calls.length}, 429s ${refused}`);
  console.log(`  took ${seconds(tookMs)}, the limits allow ${seconds(allowedMs)}, ratio ${ratio.toFixed(3)}`);
  for (const name of rateClasses)
    console.log(`  ${name}: latest call ${seconds(lateness(service.calls, name, from))} behind its place`);
  if (refused > 0 || (count === 2 && ratio > TARGET)) process.exitCode = 1;
}

function startProcess(options: ClassWorkersOptions) {
  return keepProcess({
    script: join(__dirname, 'support', 'worker-process.cjs'),
    args: [JSON.stringify(options)],
    name: 'A worker process',
    startWithinMs: 60_000,
  });
}

function plan(): PlannedCall[] {
  return rateClasses.flatMap((rateClass) =>
    Array.from({ length: CALLS[rateClass] }, (_, nth) => ({
      taskQueue: queueOfClass('bench', rateClass),
      rateClass,
      name: `${rateClass}-${nth}`,
      exporter: `exporter-${nth % 3}`,
    })),
  );
}

/** The wait that the limit itself imposes on the n-th call of a class (from 0). */
function waitOf(rateClass: RateClass, nth: number): number {
  return Math.floor(nth / RATE_LIMITS[rateClass]) * WINDOW_MS;
}

function lateness(calls: SeenCall[], rateClass: RateClass, from: number): number {
  const times = calls.filter((call) => call.rateClass === rateClass).map(({ at }) => at);
  return Math.max(...times.sort((a, b) => a - b).map((at, nth) => at - from - waitOf(rateClass, nth)));
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

void main();
