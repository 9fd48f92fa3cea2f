import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';
import { dataConverterOf } from '../src/codec/data-converter';
import { environmentFor, loadConfig } from '../src/config/config';
import { createDocumentStore } from '../src/documents/document-store';
import { migrate } from '../src/ledger/migrate';
import { createPool } from '../src/ledger/pool';
import { createVault } from '../src/ledger/vault/vault';
import { createSandbox, type Sandbox } from '../src/sandbox/sandbox';
import type { Seed } from '../src/sandbox/authority/seed';
import { startEmbeddedPostgres } from '../dev/postgres';
import { startTemporalServer } from '../dev/temporal-server';
import { startTcpProxy, type TcpProxy } from '../test/support/tcp-proxy';
import { createEbrcClient, type EbrcClient } from '../src/starter/client';
import { startOddTexts } from './odd-texts';

const COMMAND_LINE = join(__dirname, '..', 'dist', 'starter', 'cli.js');
const API_KEY = 'dev_sandbox_key';

export interface StageOptions {
  seed: Seed;
  /** Length of the rate window, at the sandbox and at the workers, in milliseconds. */
  windowMs: number;
  ackDelayMs: number;
  /** Puts texts into the service's answers that it does not name. */
  oddTexts?: boolean;
  /** Further variables of the workers. */
  variables: Record<string, string>;
  say: (message: string) => void;
}

/** Real servers, a sandbox in this process and the typed client: all but the workers. */
export interface Stage {
  folder: string;
  sandbox: Sandbox;
  /** Between the workers and PostgreSQL; everything else here goes straight to it. */
  proxy: TcpProxy;
  apiKey: string;
  databaseUrl: string;
  pool: pg.Pool;
  /** Gives a command of `ebrc`, as built; rejects with what it printed unless it is done. */
  command: (args: readonly string[]) => Promise<void>;
  temporal: Client;
  client: EbrcClient;
  documentsRoot: string;
  /** Answers of the service into which odd texts were put; null where none are to be. */
  oddAnswers: () => number | null;
  /** What workers and commands of this stage need. */
  env: Record<string, string>;
  /** The whole environment of a child process. */
  childEnv: Record<string, string | undefined>;
  /** Stops everything; the folder stays where `keep` is set, for whoever wants to look into it. */
  stop(options: { keep: boolean }): Promise<void>;
}

export async function openStage({
  seed,
  windowMs,
  ackDelayMs,
  oddTexts = false,
  variables,
  say,
}: StageOptions): Promise<Stage> {
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
  const odd = oddTexts ? await startOddTexts(sandbox.url) : null;
  const proxy = await startTcpProxy(databaseUrl);
  const key = randomBytes(32);
  const env = {
    DATABASE_URL: proxy.inFrontOf(databaseUrl),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    EBRC_API_URL: odd?.url ?? sandbox.url,
    EBRC_API_KEY: API_KEY,
    EBRC_ENCRYPTION_KEY: `chaos:${key.toString('base64')}`,
    EBRC_DOCUMENTS: documentsRoot,
    EBRC_RATE_WINDOW: `${windowMs}ms`,
    ...variables,
  };
  const pool = createPool({ url: databaseUrl, applicationName: 'ebrc-chaos' });
  await migrate(pool);
  const connection = await Connection.connect({ address: temporal.address });
  const { payloadKeys } = loadConfig(env, { need: ['payloads'] });
  const dataConverter = dataConverterOf(payloadKeys);
  const temporalClient = new Client({ connection, namespace: temporal.namespace, dataConverter });
  const client = createEbrcClient({
    temporal: temporalClient,
    pool,
    vault: createVault({ keys: [{ id: 'chaos', key }] }),
    documents: createDocumentStore({ root: documentsRoot }),
    mode: 'test',
    taskQueue: 'ebrc',
  });
  return {
    folder,
    sandbox,
    proxy,
    apiKey: API_KEY,
    databaseUrl,
    pool,
    command: async (args) => {
      const environment = environmentFor({ ...env, DATABASE_URL: databaseUrl }) as NodeJS.ProcessEnv;
      await promisify(execFile)(process.execPath, [COMMAND_LINE, ...args], { env: environment });
    },
    temporal: temporalClient,
    client,
    documentsRoot,
    oddAnswers: () => odd?.changed() ?? null,
    env,
    childEnv: environmentFor(env),
    async stop({ keep }) {
      await connection.close();
      await pool.end();
      await proxy.close();
      await odd?.close();
      await sandbox.close();
      await temporal.stop();
      await postgres.stop();
      if (!keep) await rm(folder, { recursive: true, force: true });
    },
  };
}
