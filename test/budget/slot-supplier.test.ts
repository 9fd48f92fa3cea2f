import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  bundleWorkflowCode,
  Worker,
  type NativeConnection,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { quietRuntime } from '../../bench/support/quiet-runtime';
import { createGatedTuner } from '../../src/worker/create-workers';
import type { StoppableBudget } from '../../src/budget/budget';
import { BudgetStoppedError } from '../../src/budget/slot';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { useDevServer } from '../support/temporal';
import { budgetOfProcess } from './budget-support';

const WINDOW_MS = 1_000;
const LIMIT = 3;
const MAX_TASKS = 5;

const server = useDevServer();
const database = useTestDatabase();
let native: NativeConnection;
let client: Client;
let workflowBundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  quietRuntime();
  [native, client] = await Promise.all([server.connectNative(), server.client()]);
  const silent = () => undefined;
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(__dirname, '..', '..', 'bench', 'support', 'workflows.ts'),
    logger: { log: silent, trace: silent, debug: silent, info: silent, warn: silent, error: silent },
  });
});

/** One process: a worker for the bench's workflow, and a gated one that runs `makeCall`. */
async function startProcess(makeCall: (call: { name: string }, budget: StoppableBudget) => Promise<void>) {
  const queue = `gated-${randomUUID()}`;
  const budget = budgetOfProcess({
    pool: database.pool,
    keyHash: queue,
    limit: LIMIT,
    windowMs: WINDOW_MS,
    maxTasks: MAX_TASKS,
  });
  const activities = { makeCall: (call: { name: string }) => makeCall(call, budget) };
  const gated = await Worker.create({
    connection: native,
    taskQueue: queue,
    activities,
    tuner: createGatedTuner(budget.gate('pdf')),
    shutdownGraceTime: '30s',
  });
  const workflows = await Worker.create({ connection: native, taskQueue: `${queue}-workflows`, workflowBundle });
  const running = Promise.all([gated.run(), workflows.run()]);
  return {
    budget,
    start: (count: number) =>
      client.workflow.start('makeCalls', {
        taskQueue: `${queue}-workflows`,
        workflowId: queue,
        args: [
          Array.from({ length: count }, (_, nth) => ({
            taskQueue: queue,
            rateClass: 'pdf',
            name: String(nth),
            exporter: 'a',
          })),
        ],
      }),
    async stop() {
      await budget.stop();
      gated.shutdown();
      workflows.shutdown();
      await running;
      await budget.close();
    },
  };
}

test('one task at most waits in the process for its slot, and slow calls overlap', async () => {
  let [waiting, mostWaiting, calling, mostCalling] = [0, 0, 0, 0];
  const process = await startProcess(async (_call, budget) => {
    waiting += 1;
    mostWaiting = Math.max(mostWaiting, waiting);
    const slot = await budget.acquire('pdf', { signal: Context.current().cancellationSignal });
    waiting -= 1;
    calling += 1;
    mostCalling = Math.max(mostCalling, calling);
    void slot.written();
    await Context.current().sleep(WINDOW_MS * 1.5);
    calling -= 1;
    await slot.answered();
  });
  await (await process.start(12)).result();
  await process.stop();
  expect(mostWaiting).toBe(1);
  expect(mostCalling).toBeGreaterThan(LIMIT);
  expect(mostCalling).toBeLessThanOrEqual(MAX_TASKS);
});

test('activities that fail before they ask for a slot, or never ask, do not shut the gate', async () => {
  const seen = new Map<string, number>();
  const process = await startProcess(async ({ name }, budget) => {
    const attempt = (seen.get(name) ?? 0) + 1;
    seen.set(name, attempt);
    if (Number(name) % 3 === 0) return;
    if (attempt === 1) throw ApplicationFailure.create({ message: 'no file', nextRetryDelay: 10 });
    const slot = await budget.acquire('pdf', {});
    await slot.unused();
  });
  await (await process.start(12)).result();
  await process.stop();
  expect(seen.size).toBe(12);
});

test('a stop ends the waiting task by our own error, not by the cancellation after the grace time, and asks for no other', async () => {
  let waiting = false;
  const errors: unknown[] = [];
  const process = await startProcess(async (_call, budget) => {
    waiting = true;
    await budget.acquire('pdf', { signal: Context.current().cancellationSignal }).catch((error: unknown) => {
      errors.push(error);
      throw error;
    });
  });
  const slots = await Promise.all(Array.from({ length: LIMIT }, () => process.budget.acquire('pdf', {})));
  const handle = await process.start(4);
  await eventually(() => waiting);
  await process.stop();
  expect(errors).toEqual([expect.any(BudgetStoppedError)]);
  await handle.terminate();
  await Promise.all(slots.map((slot) => slot.unused()));
});
