import { access } from 'node:fs/promises';
import { runner } from 'node-pg-migrate';
import type pg from 'pg';
import { createPool, type Queryable } from './pool';
import { changedMigrations, MIGRATIONS, readSchemaState, recordMigrationHashes } from './schema-state';

/** Any fixed number that nothing else in this database uses as an advisory lock. */
const LOCK = 4_720_118_252_021;

const LOCK_WAIT = '5min';

/**
 * Brings the schema up to date, forward only, all or nothing. Workers that start together wait for each other.
 * @returns the names of applied migrations @throws if a migration fails or was edited, or after five minutes
 */
export async function migrate(
  target: pg.Pool | string,
  options: {
    /** Folder of `NNN_name.sql` files. Default: the package's `migrations/`. */
    folder?: string;
    /** Grants the roles their rights even if no migration is missing: the roles may be newer than the ledger. */
    grants?: boolean;
    log?: (message: string) => void;
  } = {},
): Promise<string[]> {
  const url = typeof target === 'string' ? target : target.options.connectionString;
  if (url === undefined)
    throw new Error('The ledger is migrated through a pool of createPool, or a connection string.');
  // A separate connection, because a migration may take longer than the ledger's statements are allowed to.
  const pool = createPool({ url, applicationName: 'ebrc-migrate', max: 1, timeouts: { statementMs: 0, queryMs: 0 } });
  try {
    return await migrateWith(pool, options);
  } finally {
    await pool.end();
  }
}

async function migrateWith(
  pool: pg.Pool,
  { folder = MIGRATIONS, grants = false, log }: NonNullable<Parameters<typeof migrate>[1]>,
): Promise<string[]> {
  await access(folder).catch(() => {
    throw new Error(`No migrations at ${folder}: the package is incomplete, install or build it again.`);
  });
  const client = await pool.connect();
  let broken = true;
  try {
    const { missing, unknown, changed } = folder === MIGRATIONS ? await readSchemaState(client) : UNREAD;
    if (changed.length > 0) {
      const { message, advice } = changedMigrations(changed);
      throw new Error(`The ledger cannot be used with this version: ${message}. ${advice}`);
    }
    // Return before anything that needs rights on the schema, because workers need not own it.
    if (missing.length + unknown.length === 0) {
      if (grants) await grantRights(client);
      broken = false;
      return [];
    }
    await client.query(`SET lock_timeout = '${LOCK_WAIT}'`);
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const apply = runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsTable: 'schema_migrations',
      checkOrder: true,
      noLock: true,
      singleTransaction: true,
      logger: quietLogger(),
    });
    const applied = await apply.catch((error: unknown) => {
      throw permissionProblem(error, missing) ?? error;
    });
    const names = applied.map(({ name }) => name);
    if (names.length > 0 && folder === MIGRATIONS) await recordMigrationHashes(client, names);
    if (names.length > 0) await grantRights(client);
    await client.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    await client.query('RESET lock_timeout');
    broken = false;
    for (const name of names) log?.(`applied migration ${name}`);
    return names;
  } finally {
    // After a failure the session still holds the lock; closing it releases the lock for the next worker.
    client.release(broken);
  }
}

/** For a folder other than the package's, where the library decides what to apply. */
const UNREAD = { missing: ['?'], unknown: [], changed: [] };

function permissionProblem(error: unknown, missing: readonly string[]): Error | null {
  // The library sometimes wraps PostgreSQL's error in one without its code.
  if (!(error instanceof Error) || !/permission denied|must be owner/.test(error.message)) return null;
  return new Error(
    `The ledger lacks migrations (${missing.join(', ')}), and the user of DATABASE_URL may not apply them. ` +
      'Run: ebrc ledger migrate, with a DATABASE_URL whose user is a member of ebrc_migrate.',
    { cause: error },
  );
}

async function grantRights(client: Queryable): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    "SELECT to_regprocedure('grant_ledger_rights()') IS NOT NULL AS there",
  );
  if (rows[0]?.there) await client.query('SELECT grant_ledger_rights()');
}

/** Silent, because the library logs every statement and warns that `001` is no timestamp; errors say what is wrong. */
function quietLogger() {
  const silent = () => undefined;
  return { debug: silent, info: silent, warn: silent, error: silent };
}
