/** A worker process that can be ended before or after any of its calls to PostgreSQL and the document store. */
import type pg from 'pg';
import { createPool } from '../../../src/ledger/pool';
import type { SendStore } from '../../../src/ledger/sends/sends';
import { LedgerUnavailableError } from '../../../src/ledger/unavailable';

/** Where a process ends: at its call with this number, with or without the effect of that call. */
export interface End {
  at: number;
  effect: boolean;
}

export interface DyingProcess<S extends SendStore> {
  pool: pg.Pool;
  store: S;
  /** Resolves when it has ended. */
  dead: Promise<void>;
  isDead(): boolean;
  /** Its calls so far. */
  calls: string[];
}

/** @param end left out: it lives */
export function startProcess<S extends SendStore>(url: string, store: S, end?: End): DyingProcess<S> {
  const calls: string[] = [];
  let isDead = false;
  let die = (): void => undefined;
  const dead = new Promise<void>((resolve) => (die = resolve));

  async function call<T>(name: string, make: () => Promise<T>): Promise<T> {
    if (isDead) throw gone();
    calls.push(name);
    if (calls.length !== end?.at) return make();
    if (end.effect) await make();
    isDead = true;
    die();
    throw gone();
  }

  const pool = createPool({ url, max: 4 });
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const wrapped = new WeakSet<pg.PoolClient>();
  const connectOnce = async (): Promise<pg.PoolClient> => {
    if (isDead) throw gone();
    const client = await connect();
    if (!wrapped.has(client)) {
      wrapped.add(client);
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      client.query = ((...args: unknown[]) => call(`sql ${String(args[0]).trim()}`, () => query(...args))) as never;
    }
    return client;
  };
  pool.connect = connectOnce as typeof pool.connect;

  const own: SendStore = {
    createRecord: (name, content) => call(`store create ${name}`, () => store.createRecord(name, content)),
    readRecord: (name) => call(`store read ${name}`, () => store.readRecord(name)),
    recordsAfter: (folder, after, limit) => call('store list', () => store.recordsAfter(folder, after, limit)),
    storeId: () => call('store id', () => store.storeId()),
  };
  return { pool, store: { ...store, ...own }, dead, isDead: () => isDead, calls };
}

/** The connection goes with the process: PostgreSQL rolls back what it was in. */
const gone = () => new LedgerUnavailableError('ended', false, new Error('the process has ended'));
