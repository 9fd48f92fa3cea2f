import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { IllegalStateError } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import pino, { type Logger } from 'pino';
import { createActivities } from '../../src/activities/create-activities';
import type { Deps, WorkerSettings } from '../../src/activities/dependencies';
import { getFiling } from '../../src/ledger/filings/filing';
import { beatEveryMs, createSeenTime } from '../../src/ledger/time';
import { poke, pokeOrStart } from '../../src/temporal/runs';
import { FailureInterceptor } from '../../src/activities/interceptor';
import type { Budget, BudgetSlot } from '../../src/budget/slot';
import { boundedConverter } from '../../src/encryption/payload-codec';
import { createFilingApi } from '../../src/api/client';
import { createDocumentStore } from '../../src/documents/document-store';
import { EXTRACTION, modeOfKey, queueOfClass, RATE_CLASSES, SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { reportsInProcess } from '../../src/reports/render';
import { createVault } from '../../src/ledger/vault/vault';
import { workbooksInProcess } from '../../src/workbook/workbooks';
import { noteOpen } from './jest/left-open';
import { eventually } from './processes';
import type { TestDatabase } from './postgres';
import { TEST_SETTINGS } from './settings';
import { workflowBundle } from './workflow-bundle';

// Before anything else creates the runtime of this process: its logs would hide jest's output.
try {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
  });
} catch (error) {
  // An earlier test file of this process has installed it.
  if (!(error instanceof IllegalStateError)) throw error;
}

/** The parts of a Temporal server that a test worker uses; a `TestWorkflowEnvironment` is one. */
interface TestStage {
  client: Client;
  nativeConnection: NativeConnection;
  namespace?: string;
  /** Of the time-skipping server; a development server has no clock that can be held. */
  connection?: { testService?: TestWorkflowEnvironment['connection']['testService'] };
  currentTimeMs(): Promise<number>;
}

export interface TestWorkerOptions {
  env: TestStage;
  sandbox: { url: string };
  ledger: Pick<TestDatabase, 'pool' | 'setClock'>;
  /** Default `dev_sandbox_key`; its prefix is the mode. */
  apiKey?: string;
  taskQueue?: string;
  /** Default: one that lets every call through at once. */
  budget?: Budget;
  settings?: Partial<WorkerSettings>;
  /** Default: silent. */
  logger?: Logger;
  /**
   * Without a workflow cache every task replays its history, which shows non-determinism. Slower than everything else
   * in a filing's test. Required if workers restart on the time-skipping server, which keeps tasks for the previous
   * worker.
   */
  replayEveryTask?: boolean;
  /** Replaces dependencies. */
  adjust?: (deps: Deps) => Deps;
}

export interface TestWorker {
  taskQueue: string;
  deps: Deps;
  client: Client;
  /** Stops all workers as by SIGTERM without grace: activities in progress are abandoned. */
  stop(): Promise<void>;
  /** New workers with the same dependencies, as after a restart. */
  start(): Promise<void>;
  /** Stops, and frees all resources. */
  close(): Promise<void>;
}

/** Grants everything at once; for tests that are not about rates. */
const openBudget: Budget = {
  acquire: () => {
    const done = () => Promise.resolve();
    const slot: BudgetSlot = { written: done, answered: done, refused: done, unused: done };
    return Promise.resolve(slot);
  },
};

/**
 * The whole worker in this process: one worker for workflows and local work, one for each rate class, real activities
 * on a real API client against the sandbox. Time is the server's: each activity begins with the clock set to it.
 */
export async function startTestWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const { env, sandbox, ledger, apiKey = 'dev_sandbox_key' } = options;
  const taskQueue = options.taskQueue ?? `ebrc-test-${randomBytes(4).toString('hex')}`;
  const settings = { ...TEST_SETTINGS, ...options.settings };
  const documents = await mkdtemp(join(tmpdir(), 'ebrc-documents-'));
  const logger = options.logger ?? pino({ level: 'silent' });
  const clock = await createTestClock(env, ledger, beatEveryMs(settings.settleAfterMs));
  const api = createFilingApi({
    baseUrl: sandbox.url,
    apiKey,
    httpTimeoutMs: settings.httpTimeoutMs,
    budget: options.budget ?? openBudget,
  });
  const made: Deps = {
    mode: modeOfKey(apiKey) ?? 'test',
    pool: ledger.pool,
    api,
    // The same in each: several workers of a test share a ledger.
    vault: createVault({ keys: [{ id: 'test', key: Buffer.alloc(32, 7) }] }),
    documents: createDocumentStore({ root: documents }),
    workbooks: workbooksInProcess,
    reports: reportsInProcess,
    clock: clock.now,
    logger,
    settings,
    searchAttributes: Object.keys(SEARCH_ATTRIBUTES),
    seen: createSeenTime(),
    queueing: () => Promise.resolve(new Map()),
    poke: (workflowId) => wakeQuietly(env, workflowId, () => poke(env.client, workflowId)),
    pokeOrStart: async (filingId) => {
      const filing = await getFiling(ledger.pool, filingId);
      if (filing) await wakeQuietly(env, filing.workflowId, () => pokeOrStart(env.client, taskQueue, filing));
    },
  };
  const deps = options.adjust?.(made) ?? made;
  const activities = createActivities(deps);
  let running: { worker: Worker; ended: Promise<void> }[] = [];

  const common: Omit<WorkerOptions, 'taskQueue'> = {
    connection: env.nativeConnection,
    namespace: env.namespace ?? 'default',
    dataConverter: boundedConverter(),
    activities,
    shutdownGraceTime: 0,
    interceptors: {
      activity: [
        () => ({ inbound: { execute: async (input, next) => clock.refresh().then(() => next(input)) } }),
        () => ({ inbound: new FailureInterceptor({ logger, settings }) }),
      ],
    },
  };

  async function start(): Promise<void> {
    const bundle = await workflowBundle();
    const main = { taskQueue, workflowBundle: bundle, maxCachedWorkflows: options.replayEveryTask ? 0 : 100 };
    const classes = RATE_CLASSES.map((rateClass) => ({ taskQueue: queueOfClass(taskQueue, rateClass) }));
    const extraction = deps.extraction && {
      taskQueue: queueOfClass(taskQueue, EXTRACTION),
      maxConcurrentActivityTaskExecutions: deps.extraction.pace.atOnce,
    };
    const queues = [main, ...classes, ...(extraction ? [extraction] : [])];
    const workers = await Promise.all(queues.map((own) => Worker.create({ ...common, ...own })));
    running = workers.map((worker) => ({ worker, ended: worker.run() }));
  }

  async function stop(): Promise<void> {
    const ending = running;
    running = [];
    for (const { worker } of ending) worker.shutdown();
    await Promise.all(ending.map(({ ended }) => ended));
  }

  await deps.vault.publish(ledger.pool, deps.mode);
  await start();
  const closed = noteOpen('a worker');
  return {
    taskQueue,
    deps,
    client: env.client,
    start,
    stop,
    close: async () => {
      await stop();
      await clock.read();
      await api.close();
      await rm(documents, { recursive: true, force: true });
      closed();
    },
  };
}

/**
 * Wakes a run while the clock stands. The time-skipping server blocks for good when a run cancels a call that is just
 * put into its queue; while it skips, the next call is put there at once.
 */
export async function wakeQuietly(env: TestStage, workflowId: string, wake: () => Promise<unknown>): Promise<void> {
  const clock = env.connection?.testService;
  await clock?.lockTimeSkipping({});
  try {
    await untilTaken(env.client, workflowId);
    await wake();
    await untilTaken(env.client, workflowId);
  } catch {
    // A run that is not there is not woken; what is to happen then, the test asserts.
  } finally {
    await clock?.unlockTimeSkipping({});
  }
}

/** Waits until a run has come to rest: workers have every call that is due, and its history grows no more. */
async function untilTaken(temporal: Client, workflowId: string): Promise<void> {
  const run = temporal.workflow.getHandle(workflowId);
  let seen = -1;
  const isTaken = async () => {
    const { raw } = await run.describe();
    const waiting = (raw.pendingActivities ?? []).some(
      ({ state, attempt }) => Number(state) !== STARTED && attempt === 1,
    );
    const events = (await run.fetchHistory()).events ?? [];
    const { workflowTaskScheduledEventAttributes, workflowTaskStartedEventAttributes } = events.at(-1) ?? {};
    const isSame = events.length === seen;
    seen = events.length;
    return isSame && !waiting && !workflowTaskScheduledEventAttributes && !workflowTaskStartedEventAttributes;
  };
  // A run that is not there, or is held up, is woken all the same.
  await eventually(isTaken, 5_000).catch(() => undefined);
}

/** `temporal.api.enums.v1.PendingActivityState`. */
const STARTED = 2;

/**
 * The server's time for code that cannot wait for it: the last time read, plus the time since. `read` resolves once no
 * reading is under way: an activity that was given up may have begun one, and the SDK throws, out of everybody's reach,
 * when it repeats a call after its connection was closed.
 */
async function createTestClock(
  env: Pick<TestStage, 'currentTimeMs'>,
  ledger: Pick<TestDatabase, 'pool' | 'setClock'>,
  beatMs: number,
): Promise<{ now: () => number; refresh: () => Promise<void>; read: () => Promise<unknown> }> {
  const begun = await env.currentTimeMs();
  let known = { server: begun, here: performance.now() };
  let beats = 0;
  const readings = new Set<Promise<void>>();
  const readTime = async () => {
    known = { server: await env.currentTimeMs(), here: performance.now() };
    const skippedMs = known.server - Date.now();
    // The ledger's clock and its beats go with the server's: a real worker's would have raised them meanwhile.
    ledger.setClock(Math.abs(skippedMs) < 1_000 ? 0 : skippedMs);
    const due = Math.floor((known.server - begun) / beatMs) - beats;
    if (due <= 0) return;
    beats += due;
    await ledger.pool.query('UPDATE ledger SET beat = beat + $1', [due]).catch(() => undefined);
  };
  await readTime();
  return {
    now: () => Math.round(known.server + performance.now() - known.here),
    refresh: () => {
      const reading = readTime().finally(() => readings.delete(reading));
      readings.add(reading);
      return reading;
    },
    read: () => Promise.allSettled(readings),
  };
}
