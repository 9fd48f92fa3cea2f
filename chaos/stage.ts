import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';
import { childEnvironment } from '../src/config';
import { createDocumentStore } from '../src/documents/document-store';
import { migrate } from '../src/ledger/migrate';
import { createPool } from '../src/ledger/pool';
import { createVault } from '../src/ledger/vault';
import { createSandbox, type Sandbox } from '../src/sandbox/sandbox';
import type { Seed } from '../src/sandbox/seed';
import { startEmbeddedPostgres } from '../src/stack/postgres';
import { startTemporalServer } from '../src/stack/temporal-server';
import { createEbrcClient, type EbrcClient } from '../src/starter/client';

const API_KEY = 'dev_sandbox_key';

export interface StageOptions {
  seed: Seed;
  /** Length of the rate window, at the sandbox and at the workers, in milliseconds. */
  windowMs: number;
  ackDelayMs: number;
  /** Further variables of the workers. */
  variables: Record<string, string>;
  say: (message: string) => void;
}

/** Real servers, a sandbox in this process and the typed client: all but the workers. */
export interface Stage {
  folder: string;
  sandbox: Sandbox;
  pool: pg.Pool;
  client: EbrcClient;
  documentsRoot: string;
  /** What workers and commands of this stage need. */
  env: Record<string, string>;
  /** The whole environment of a child process. */
  childEnv: Record<string, string | undefined>;
  /** Stops everything; the folder stays where `keep` is set, for whoever wants to look into it. */
  stop(options: { keep: boolean }): Promise<void>;
}

export async function openStage({ seed, windowMs, ackDelayMs, variables, say }: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-chaos-'));
  const documentsRoot = join(folder, 'documents');
  await mkdir(documentsRoot, { recursive: true });
  say('starting PostgreSQL and Temporal');
  // Temporal keeps its histories in memory: it is not what is tested, and a disk would slow the rest down.
  const [postgres, temporal] = await Promise.all([
    startEmbeddedPostgres({ folder: join(folder, 'postgres') }),
    startTemporalServer({ headless: true }),
  ]);
  const databaseUrl = await postgres.createDatabase('ebrc');
  const sandbox = await createSandbox({ seed, rateWindowMs: windowMs, ackDelayMs, activationDelayMs: 0 });
  const key = randomBytes(32);
  const env = {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    EBRC_API_URL: sandbox.url,
    EBRC_API_KEY: API_KEY,
    EBRC_ENCRYPTION_KEY: `chaos:${key.toString('base64')}`,
    EBRC_DOCUMENTS: documentsRoot,
    EBRC_RATE_WINDOW: `${windowMs}ms`,
    ...variables,
  };
  const pool = createPool({ url: databaseUrl, applicationName: 'ebrc-chaos' });
  await migrate(pool);
  const connection = await Connection.connect({ address: temporal.address });
  const client = createEbrcClient({
    temporal: new Client({ connection, namespace: temporal.namespace }),
    pool,
    vault: createVault({ keys: [{ id: 'chaos', key }] }),
    documents: createDocumentStore({ root: documentsRoot }),
    mode: 'test',
    taskQueue: 'ebrc',
  });
  return {
    folder,
    sandbox,
    pool,
    client,
    documentsRoot,
    env,
    childEnv: childEnvironment(env),
    async stop({ keep }) {
      await connection.close();
      await pool.end();
      await sandbox.close();
      await temporal.stop();
      await postgres.stop();
      if (!keep) await rm(folder, { recursive: true, force: true });
    },
  };
}
