import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { startWorkers } from '../../chaos/workers';
import { onboardAll } from '../../chaos/filer';
import { makePlan } from '../../chaos/plan';
import { openStage, type Stage } from '../../chaos/stage';
import { messageOf } from '../../dev/sample-mapping';
import { forEachLimited } from '../../src/domain/values';
import { searchAttributes } from '../../src/domain/names';
import { quietLogger } from './quiet-runtime';
import { cpuTimes } from './process-cost';

/** So short that the budget does its work and its limits keep no call waiting: 50 PDFs and 100 pushes a second. */
const WINDOW_MS = 100;
const EXPORTERS = 20;

export interface FilingBenchOptions {
  /** From a submission to its outcome at the sandbox. */
  ackDelayMs: number;
  /** Whether Temporal's server stores its histories in a file, as every real server does; otherwise in memory. */
  durableTemporal?: boolean;
  /** Further variables of the worker. */
  variables: Record<string, string>;
}

/**
 * Real servers on this machine, the sandbox with its limits off, one built worker in a process of its own, and
 * exporters that are ready to file.
 */
export async function openFilingBench({ ackDelayMs, durableTemporal = false, variables }: FilingBenchOptions) {
  const plan = makePlan({ filings: 1, exporters: EXPORTERS, seed: 1 });
  const stage = await openStage({
    seed: plan.seed,
    windowMs: WINDOW_MS,
    ackDelayMs,
    rateLimits: false,
    direct: true,
    durableTemporal,
    variables,
    say: () => undefined,
  });
  const workers = await startWorkers({ size: 1, env: stage.childEnv, folder: stage.folder });
  await onboardAll(stage.client, plan.exporters);
  const exporters = (await stage.client.exporters()).map(({ exporterId }) => exporterId);
  const row = plan.filings[0]!.rows[0]!;
  let filed = 0;

  /** The next one-row push filing. */
  function next() {
    filed += 1;
    const exporterId = exporters[filed % exporters.length]!;
    const document = `BENCH/${filed}`;
    const message = messageOf([{ ...row, sbCumInvoiceNumber: document, billNo: document }]);
    return { reference: `BENCH-${filed}`, exporterId, message };
  }

  /** Starts a workflow of one, with its attributes. */
  async function start() {
    const { reference, exporterId, message } = next();
    const attributes = { exporterId, mode: 'test' as const, reference };
    return stage.temporal.workflow.start('fileRemittances', {
      taskQueue: 'ebrc',
      workflowId: `file/test/${reference}`,
      typedSearchAttributes: searchAttributes(attributes),
      args: [{ mode: 'test', exporterId, reference, madeBy: 'bench', message }],
    });
  }

  return {
    stage,
    workers,
    next,
    start,
    /** Files so many, some at once, and waits for their ends. @returns seconds */
    fileToTheEnd: (count: number, atOnce: number) =>
      timed(count, atOnce, async () => {
        const { state } = (await (await start()).result()) as { state: string };
        if (state !== 'certified') throw new Error(`a filing ended as ${state}`);
      }),
    /** CPU time so far, in ms, by part; the client and the sandbox are this process. */
    cpu(): Record<string, number> {
      const { user, system } = process.cpuUsage();
      const servers = cpuTimes({
        Temporal: stage.temporalServer.pid(),
        worker: workers.pids()[0] ?? 0,
        PostgreSQL: stage.postgresPid,
      });
      return { ...servers, 'client, sandbox': (user + system) / 1_000 };
    },
    async stop(): Promise<void> {
      await workers.stop();
      await stage.stop({ keep: false });
    },
  };
}

/** Runs workflows of six activities that do nothing on the same server, with a worker in this process. */
export async function openBareWorker({ env, temporal }: Stage) {
  const connection = await NativeConnection.connect({ address: env['TEMPORAL_ADDRESS']! });
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(__dirname, 'workflows.ts'),
    logger: quietLogger,
  });
  const activities = { doNothing: () => Promise.resolve() };
  const worker = await Worker.create({ connection, taskQueue: 'bare', workflowBundle, activities });
  const running = worker.run();
  const client = new Client({ connection: temporal.connection });
  let started = 0;
  return {
    /** @returns seconds */
    run: (count: number, atOnce: number) =>
      timed(count, atOnce, async () => {
        started += 1;
        await client.workflow.execute('takeSixSteps', { taskQueue: 'bare', workflowId: `bare-${started}` });
      }),
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

async function timed(count: number, atOnce: number, work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await forEachLimited([...Array(count).keys()], atOnce, work);
  return (performance.now() - from) / 1_000;
}
