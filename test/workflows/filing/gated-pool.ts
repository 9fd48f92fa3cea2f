import type pg from 'pg';
import { LedgerUnavailableError } from '../../../src/ledger/unavailable';

/** The way to PostgreSQL; while it is down, every statement fails as with a server that is not there. */
export interface Gate {
  down: boolean;
}

/** A pool behind a gate. Connections that are open already go on: a transaction under way ends. */
export function gatedPool(pool: pg.Pool, gate: Gate): pg.Pool {
  return new Proxy(pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (gate.down && (property === 'query' || property === 'connect')) {
          return Promise.reject(new LedgerUnavailableError('ECONNREFUSED', false, new Error('connect ECONNREFUSED')));
        }
        return Reflect.apply(value, target, args);
      };
    },
  });
}
