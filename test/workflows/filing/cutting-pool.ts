import { Context } from '@temporalio/activity';
import type pg from 'pg';
import { createPool } from '../../../src/ledger/pool';
import { LedgerUnavailableError } from '../../../src/ledger/unavailable';

/** A statement of a workflow's activities: the nth of all that activities of this type make for it. */
export interface Statement {
  activity: string;
  nth: number;
  text: string;
}

/** Where a connection is lost: before the server executes a statement, or before its answer is read. */
export interface Cut extends Pick<Statement, 'activity' | 'nth'> {
  executed: boolean;
}

export interface CuttingPool {
  /** The statements of a workflow's activities so far. */
  statements(workflowId: string): readonly Statement[];
  /** Has PostgreSQL end the session of a workflow's activity, once. */
  cut(workflowId: string, cut: Cut): void;
  /** The workflows whose cut has not happened. */
  uncut(): string[];
  close(): Promise<void>;
}

/** Makes it possible to cut the connections that activities take from `pool`. */
export function cutConnections(pool: pg.Pool): CuttingPool {
  const admin = createPool({ url: pool.options.connectionString ?? '', max: 2 });
  const made = new Map<string, Statement[]>();
  const cuts = new Map<string, Cut>();

  async function query(client: pg.PoolClient, run: () => Promise<unknown>, text: string): Promise<unknown> {
    const of = runningActivity();
    if (!of) return run();
    const { workflowId, activity } = of;
    const statements = made.get(workflowId) ?? [];
    const nth = statements.filter((each) => each.activity === activity).length + 1;
    made.set(workflowId, [...statements, { activity, nth, text }]);
    const cut = cuts.get(workflowId);
    if (cut?.activity !== activity || cut.nth !== nth) return run();
    cuts.delete(workflowId);
    if (cut.executed) await run();
    await admin.query('SELECT pg_terminate_backend($1, 5000)', [sessionOf(client)]);
    if (!cut.executed) return run();
    throw new LedgerUnavailableError('connection', false, new Error('Connection terminated unexpectedly'));
  }

  const checkOut = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const wrapped = new WeakSet<pg.PoolClient>();
  pool.connect = (async () => {
    const client = await checkOut();
    if (wrapped.has(client)) return client;
    wrapped.add(client);
    const run = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.query = ((...args: unknown[]) => query(client, () => run(...args), String(args[0]).trim())) as never;
    return client;
  }) as typeof pool.connect;

  return {
    statements: (workflowId) => made.get(workflowId) ?? [],
    cut: (workflowId, cut) => void cuts.set(workflowId, cut),
    uncut: () => [...cuts.keys()],
    close: () => admin.end(),
  };
}

/** The process at the server; the driver's types leave it out. */
const sessionOf = (client: pg.PoolClient) => (client as unknown as { processID: number }).processID;

function runningActivity(): { workflowId: string; activity: string } | null {
  try {
    const { workflowExecution, activityType } = Context.current().info;
    return workflowExecution ? { workflowId: workflowExecution.workflowId, activity: activityType } : null;
  } catch {
    // The test itself, which is no activity.
    return null;
  }
}
