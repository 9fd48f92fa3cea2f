import { Context } from '@temporalio/activity';
import type pg from 'pg';
import { replacing } from '../../support/replacing';

/** A local step on the ledger at one of the two places where a stop matters: around the commit of its transaction. */
export interface StopPoint {
  activity: string;
  when: 'before its commit' | 'after its commit';
}

/**
 * A pool whose transactions wait for `stop` before or after their commit, where the activity that makes them is a local
 * step at the point that `wanted` names then.
 */
export function stoppingPool(
  pool: pg.Pool,
  wanted: () => StopPoint | undefined,
  stop: (point: StopPoint) => Promise<void>,
): pg.Pool {
  const pointOf = (statement: unknown): StopPoint | undefined => {
    const point = wanted();
    const { isLocal, activityType } = Context.current().info;
    return statement === 'COMMIT' && isLocal && activityType === point?.activity ? point : undefined;
  };
  const query = async (client: pg.PoolClient, args: unknown[]): Promise<unknown> => {
    const point = pointOf(args[0]);
    if (point?.when === 'before its commit') await stop(point);
    const result = await (client as unknown as { query: (...all: unknown[]) => Promise<unknown> }).query(...args);
    if (point?.when === 'after its commit') await stop(point);
    return result;
  };
  return replacing(pool, 'connect', async () => {
    const client = await pool.connect();
    return replacing(client, 'query', (...args: unknown[]) => query(client, args));
  });
}
