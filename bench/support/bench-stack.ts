import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { migrate } from '../../src/ledger/migrate';
import { startEmbeddedPostgres } from '../../dev/postgres';
import { startTemporalServer, type TemporalServerOptions } from '../../dev/temporal-server';
import { quietLogger, quietRuntime } from './quiet-runtime';

/**
 * The real servers that a bench needs, with a worker for the bench's workflows (and for nothing else); Temporal with
 * further dynamic configuration.
 */
export async function startBenchStack(dynamicConfig?: TemporalServerOptions['dynamicConfig']) {
  quietRuntime();
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-bench-'));
  const [postgres, temporal] = await Promise.all([
    startEmbeddedPostgres({ folder, temporary: true }),
    startTemporalServer({ headless: true, dynamicConfig }),
  ]);
  const databaseUrl = postgres.urlOf('postgres');
  await migrate(databaseUrl);
  const [connection, native] = await Promise.all([
    Connection.connect({ address: temporal.address }),
    NativeConnection.connect({ address: temporal.address }),
  ]);
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(__dirname, 'workflows.ts'),
    logger: quietLogger,
  });
  const worker = await Worker.create({ connection: native, taskQueue: 'bench', workflowBundle });
  const running = worker.run();
  return {
    client: new Client({ connection }),
    databaseUrl,
    temporalAddress: temporal.address,
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
      await connection.close();
      await native.close();
      await temporal.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type BenchStack = Awaited<ReturnType<typeof startBenchStack>>;
