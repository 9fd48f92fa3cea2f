/**
 * A worker in a process of its own, which kills itself at a point of a local step. What it is to do comes as JSON in
 * its first argument.
 */
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { WorkerSettings } from '../../../src/activities/dependencies';
import { createDocumentStore } from '../../../src/documents/document-store';
import { createPool } from '../../../src/ledger/pool';
import { startTestWorker } from '../../support/worker';
import { stoppingPool, type StopPoint } from './stopping-pool';

export interface DyingWorker {
  address: string;
  namespace: string;
  taskQueue: string;
  databaseUrl: string;
  sandboxUrl: string;
  /** The folder of the document store. */
  documents: string;
  settings: Partial<WorkerSettings>;
  /** Left out: it lives. */
  dies?: StopPoint;
}

async function main(work: DyingWorker): Promise<void> {
  const { address, namespace, taskQueue, settings } = work;
  const die = () => {
    process.kill(process.pid, 'SIGKILL');
    return new Promise<void>(() => undefined);
  };
  await startTestWorker({
    env: {
      client: new Client({ connection: await Connection.connect({ address }), namespace }),
      nativeConnection: await NativeConnection.connect({ address }),
      namespace,
      currentTimeMs: () => Promise.resolve(Date.now()),
    },
    sandbox: { url: work.sandboxUrl },
    ledger: { pool: createPool({ url: work.databaseUrl }) },
    taskQueue,
    settings,
    adjust: (deps) => ({
      ...deps,
      pool: stoppingPool(deps.pool, () => work.dies, die),
      documents: createDocumentStore({ root: work.documents }),
    }),
  });
}

void main(JSON.parse(process.argv[2] ?? '') as DyingWorker);
