import type pg from 'pg';
import { createPool, withConnection, type Queryable } from '../pool';

/** A report reads years: its statements may take longer than those that somebody's filing waits for. */
const TIMEOUTS = { statementMs: 120_000, queryMs: 130_000, idleInTransactionMs: 120_000 };

/**
 * Runs `work` on a connection of its own, beside the pool, in one snapshot: all figures of a report are of one moment.
 */
export async function inSnapshot<T>(pool: pg.Pool, work: (db: Queryable) => Promise<T>): Promise<T> {
  const url = pool.options.connectionString;
  if (url === undefined) throw new Error('The pool of a ledger has a connection string.');
  const own = createPool({ url, applicationName: 'ebrc-report', max: 1, timeouts: TIMEOUTS });
  try {
    return await withConnection(own, async (connection) =>
      connection.transaction(async (client) => {
        await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
        // Years are sorted and joined in memory; compiling a statement that runs once takes longer than it saves, and
        // remembering looked-up rows of which each is needed once takes longer than a join of both sides.
        await client.query(
          `SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true), set_config('enable_memoize', 'off', true)`,
        );
        return work(client);
      }),
    );
  } finally {
    await own.end();
  }
}
