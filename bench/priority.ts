/**
 * What a filing waits for before its send while 1,000 exporters reconcile: each of them has a refresh of its IRMs and a
 * read of its certificates in the queues (priority 5); then one filing refreshes, and reads its certificates (priority
 * 2), one after the other, as before a send. The send itself has a rate class that a reconciliation never uses. One
 * worker process behind the real gates, in windows of 3 s.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { queueOfClass, type RateClass } from '../src/domain/names';
import { startBenchStack, type BenchStack } from './support/bench-stack';
import { classWorkersOf, startClassWorkers } from './support/class-workers';
import { startLimitedServer } from './support/limited-server';
import { report } from './support/report';
import type { PlannedCall } from './support/workflows';

const WINDOW_MS = 3_000;
const EXPORTERS = 1_000;
const READS = ['irm-refresh', 'details'] as const;
const ROUNDS = 3;
const MAX_WINDOWS = 2;

async function main(): Promise<void> {
  const stack = await startBenchStack();
  const service = await startLimitedServer({ windowMs: WINDOW_MS, answerMs: () => 5 });
  const workers = await startClassWorkers(
    classWorkersOf(stack, service, { windowMs: WINDOW_MS, rateClasses: [...READS] }),
  );
  try {
    // Ten workflows, so that none has more than 500 activities pending.
    const crowd = await Promise.all(Array.from({ length: 10 }, (_, nth) => handOver(stack, reconciliation(nth))));
    while (service.calls.length < 20) await sleep(20);
    const asFiling: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) asFiling.push(await readsBeforeSend(stack, `filing-${round}`, 2));
    const left = READS.map(
      (rateClass) => EXPORTERS - service.calls.filter((call) => call.rateClass === rateClass).length,
    );
    for (const each of crowd) await each.terminate('the bench has seen enough');
    const figures = Object.fromEntries(
      asFiling.map((windows, nth) => [`filing ${nth + 1}`, { 'windows waited': Number(windows.toFixed(2)) }]),
    );
    console.log(`Still queued for the reconciliations: ${READS.map((name, nth) => `${name} ${left[nth]}`).join(', ')}`);
    const refused = service.calls.filter((call) => call.refused).length;
    report('priority', figures, [
      { goal: `a send waits at most ${MAX_WINDOWS} windows`, met: Math.max(...asFiling) <= MAX_WINDOWS },
      { goal: 'no 429', met: refused === 0 },
    ]);
  } finally {
    await workers.stop();
    await service.close();
    await stack.stop();
  }
}

/** A tenth of the reads of all reconciliations. */
function reconciliation(part: number): PlannedCall[] {
  return Array.from({ length: EXPORTERS / 10 }, (_, nth) => `exporter-${part}-${nth}`).flatMap((exporter) =>
    READS.map((rateClass) => call(rateClass, exporter, 5)),
  );
}

/** @returns windows */
async function readsBeforeSend(stack: BenchStack, exporter: string, priorityKey: number): Promise<number> {
  const from = performance.now();
  for (const rateClass of READS) await (await handOver(stack, [call(rateClass, exporter, priorityKey)])).result();
  return (performance.now() - from) / WINDOW_MS;
}

function call(rateClass: RateClass, exporter: string, priorityKey: number): PlannedCall {
  return { taskQueue: queueOfClass('bench', rateClass), rateClass, name: exporter, exporter, priorityKey };
}

function handOver(stack: BenchStack, calls: PlannedCall[]) {
  const workflowId = `priority-${randomUUID()}`;
  return stack.client.workflow.start('makeCalls', { taskQueue: 'bench', workflowId, args: [calls] });
}

void main();
