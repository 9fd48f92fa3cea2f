import pg from 'pg';

/** What a statement needs: a pool, or a client inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>;

export interface PoolOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** Shown in `pg_stat_activity`; default `ebrc`. */
  applicationName?: string;
  /** Most connections this process opens; default 10. */
  max?: number;
  /** Told of connections that broke while idle (the server restarted, say); the pool replaces them by itself. */
  onIdleError?: (error: Error) => void;
}

/**
 * A pool whose values read as this project means them: `date` stays the text `YYYY-MM-DD` (a filing date passes through no
 * time zone; the driver's default would make a local midnight of it), `numeric` stays text (money is never a binary float),
 * `bigint` stays text too, `timestamptz` becomes a `Date`.
 */
export function createPool({ url, applicationName = 'ebrc', max = 10, onIdleError }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: applicationName,
    max,
    connectionTimeoutMillis: 15_000,
    types: { getTypeParser },
  });
  // Without a listener the driver throws it as an uncaught exception, and a restart of PostgreSQL would end the worker.
  pool.on('error', (error) => onIdleError?.(error));
  return pool;
}

/** Type `date` in PostgreSQL's catalogue, the same in every server. */
const DATE_OID = 1082;

const asText = (value: string) => value;

function getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === DATE_OID && format !== 'binary') return asText;
  return pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text');
}

/**
 * Runs `work` in one transaction: committed when it returns, rolled back when it throws (the error comes through as it was).
 * A client whose rollback fails is thrown away, not put back.
 */
export async function withTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((rollbackError: unknown) => {
      broken = rollbackError instanceof Error ? rollbackError : new Error(String(rollbackError));
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
