import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import type pg from 'pg';
import { dataConverterOf } from '../src/encryption/payload-codec';
import { filingSettings, loadConfig } from '../src/config/config';
import { environmentFor } from '../dev/environment';
import { createDocumentStore } from '../src/documents/document-store';
import { migrate } from '../src/ledger/migrate';
import { createPool } from '../src/ledger/pool';
import { createSandbox, type Sandbox } from '../sandbox/sandbox';
import type { Seed } from '../sandbox/authority/seed';
import { startEmbeddedPostgres } from '../dev/postgres';
import { connect } from '../src/temporal/connect';
import type { Principal } from '../src/domain/principal';
import { createEbrcClient, type EbrcClient } from '../src/starter/client';
import { closeLinks, openLinks, type Links } from './disruptions/links';
import { mountSmallDisk, type SmallDisk } from './disruptions/small-disk';
import { startRestartable, type RestartableTemporal } from './restartable-temporal';

export const COMMAND_LINE = join(__dirname, '..', 'dist', 'starter', 'cli.js');
const API_KEY = 'dev_sandbox_key';
/** Room for the documents of a few hundred filings. */
const DISK_MB = 24;
const CALLS_OVER_MS = 60_000;

export interface StageOptions {
  seed: Seed;
  /** Length of the rate window, at the sandbox and at the workers, in milliseconds. */
  windowMs: number;
  ackDelayMs: number;
  /** Whether the service enforces its limits; default true. */
  rateLimits?: boolean;
  /** Stands between the service and the workers, and may change its answers. */
  front?: (sandboxUrl: string) => Promise<Front>;
  /** Temporal keeps its histories in a file, so that it can be started again. */
  durableTemporal?: boolean;
  /** The documents lie on a disk that can be filled. */
  smallDisk?: boolean;
  /** For measurements: the workers talk straight to the servers. */
  direct?: boolean;
  /** Further variables of the workers. */
  variables: Record<string, string>;
  say: (message: string) => void;
}

/** What the workers take for the service. */
export interface Front {
  url: string;
  close(): Promise<void>;
}

/** Real servers, a sandbox in this process and the typed client: all but the workers. */
export interface Stage {
  folder: string;
  sandbox: Sandbox;
  links: Links;
  apiKey: string;
  databaseUrl: string;
  /** Process id of the keeper of PostgreSQL, its parent process. */
  postgresPid: number;
  pool: pg.Pool;
  /** Runs the built `ebrc`; rejects with its output if the exit code is not 0. @returns what it printed */
  command: (args: readonly string[], variables?: Record<string, string>) => Promise<string>;
  temporal: Client;
  temporalServer: RestartableTemporal;
  client: EbrcClient;
  /** The typed client of a principal. */
  clientAs: (principal: Principal) => EbrcClient;
  documentsRoot: string;
  /** The disk of the documents; null where it cannot be filled. */
  disk: SmallDisk | null;
  /** Variables of the workers and commands. */
  env: Record<string, string>;
  /** The whole environment of a child process. */
  childEnv: Record<string, string | undefined>;
  /** Stops everything and, unless `keep` is set, deletes the folder. */
  stop(options: { keep: boolean }): Promise<void>;
}

export async function openStage({
  seed,
  windowMs,
  ackDelayMs,
  rateLimits = true,
  front: openFront,
  durableTemporal = false,
  smallDisk = false,
  direct = false,
  variables,
  say,
}: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-chaos-'));
  // Traversable by others: PostgreSQL runs as another user if this process runs as root.
  await chmod(folder, 0o711);
  const documentsRoot = join(folder, 'documents');
  await mkdir(documentsRoot, { recursive: true });
  const disk = smallDisk ? await mountSmallDisk(documentsRoot, DISK_MB) : null;
  if (smallDisk && !disk) say('the disk is not filled: mounting one is not permitted here');
  say('starting PostgreSQL and Temporal');
  const [postgres, temporal] = await Promise.all([
    startEmbeddedPostgres({ folder: join(folder, 'postgres') }),
    startRestartable(durableTemporal ? join(folder, 'temporal') : undefined),
  ]);
  const databaseUrl = await postgres.createDatabase('ebrc');
  const sandbox = await createSandbox({ seed, rateWindowMs: windowMs, rateLimits, ackDelayMs, activationDelayMs: 0 });
  const front = await openFront?.(sandbox.url);
  const serviceUrl = front?.url ?? sandbox.url;
  const links = await openLinks({
    postgres: databaseUrl,
    temporal: `tcp://${temporal.address}`,
    service: serviceUrl,
  });
  const key = randomBytes(32);
  const env = {
    DATABASE_URL: direct ? databaseUrl : links.postgres.inFrontOf(databaseUrl),
    TEMPORAL_ADDRESS: direct ? temporal.address : `127.0.0.1:${links.temporal.port}`,
    TEMPORAL_NAMESPACE: temporal.namespace,
    EBRC_API_URL: direct ? serviceUrl : links.service.inFrontOf(serviceUrl),
    EBRC_API_KEY: API_KEY,
    EBRC_ENCRYPTION_KEY: `chaos:${key.toString('base64')}`,
    EBRC_DOCUMENTS: documentsRoot,
    EBRC_RATE_WINDOW: `${windowMs}ms`,
    ...variables,
  };
  const pool = createPool({ url: databaseUrl, applicationName: 'ebrc-chaos' });
  await migrate(pool);
  const connection = await connect({ address: temporal.address });
  const config = loadConfig(env, { need: ['payloads', 'tuning', 'filing'] });
  const dataConverter = dataConverterOf(config.payloadKeys);
  const temporalClient = new Client({ connection, namespace: temporal.namespace, dataConverter });
  const clientAs = (principal?: Principal) =>
    createEbrcClient({
      temporal: temporalClient,
      pool,
      documents: createDocumentStore({ root: documentsRoot }),
      mode: 'test',
      settings: filingSettings(config),
      taskQueue: 'ebrc',
      ...(principal && { principal }),
    });
  return {
    folder,
    sandbox,
    links,
    apiKey: API_KEY,
    databaseUrl,
    postgresPid: postgres.pid,
    pool,
    command: async (args, further = {}) => {
      const straight = { ...env, DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporal.address };
      const environment = environmentFor({ ...straight, ...further }) as NodeJS.ProcessEnv;
      return (await promisify(execFile)(process.execPath, [COMMAND_LINE, ...args], { env: environment })).stdout;
    },
    temporal: temporalClient,
    temporalServer: temporal,
    client: clientAs(),
    clientAs,
    documentsRoot,
    disk,
    env,
    childEnv: environmentFor(env),
    async stop({ keep }) {
      // The SDK retries calls that were abandoned, and throws from a timer if the connection is closed by then.
      setTimeout(() => void connection.close(), CALLS_OVER_MS).unref();
      await pool.end();
      await closeLinks(links);
      await front?.close();
      await sandbox.close();
      await temporal.stop();
      await postgres.stop();
      await disk?.unmount(keep ? join(folder, 'documents-kept') : undefined);
      if (!keep) await rm(folder, { recursive: true, force: true });
    },
  };
}
