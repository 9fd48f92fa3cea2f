import { Context } from '@temporalio/activity';
import type pg from 'pg';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { replacing } from '../support/replacing';

/** The try of an activity that makes a statement. */
interface Step {
  activity: string;
  attempt: number;
}

/** The way to PostgreSQL of a worker. */
export interface Gate {
  /** Every statement fails, as with a server that is not there. Transactions under way end. */
  down: boolean;
  /** Called around each commit of an activity; where it throws the worker hears nothing of it. */
  atCommit: ((at: Step & { when: 'before' | 'after' }) => void | Promise<void>) | null;
}

const away = (why: string) => new LedgerUnavailableError('ECONNREFUSED', false, new Error(why));

/** A connection that is lost: the answer to its statement does not arrive. */
export const connectionLost = (): Error => away('Connection terminated unexpectedly');

/** A pool behind a gate. */
export function gatedPool(pool: pg.Pool, gate: Gate): pg.Pool {
  const query = async (client: pg.PoolClient, args: unknown[]): Promise<unknown> => {
    const run = () => (client as unknown as { query: (...all: unknown[]) => Promise<unknown> }).query(...args);
    const step = args[0] === 'COMMIT' ? stepOf() : null;
    if (step === null) return run();
    await gate.atCommit?.({ ...step, when: 'before' });
    const result = await run();
    await gate.atCommit?.({ ...step, when: 'after' });
    return result;
  };
  const refuse = () => Promise.reject(away('connect ECONNREFUSED'));
  const connect = async () => {
    if (gate.down) return refuse();
    const client = await pool.connect();
    return replacing(client, 'query', (...args: unknown[]) => query(client, args));
  };
  const ask = (...args: unknown[]): unknown =>
    gate.down ? refuse() : (pool.query as unknown as (...all: unknown[]) => unknown).apply(pool, args);
  return replacing(replacing(pool, 'connect', connect), 'query', ask);
}

/** Null: the test itself. */
function stepOf(): Step | null {
  try {
    const { activityType: activity, attempt } = Context.current().info;
    return { activity, attempt };
  } catch {
    return null;
  }
}
