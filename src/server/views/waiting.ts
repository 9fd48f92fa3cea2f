import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { isEnd, type FilingState } from '../../domain/filing/states';
import { standingsOf } from '../../ledger/filings/filing-pages';
import { waitsForPerson } from '../../starter/filings/outcome';
import { LONGEST_WAIT_S } from '../http/limits';

const LOOK_EVERY_MS = 1_000;

/** Waits for filings: one look at the ledger a second, for all callers together. */
export interface FilingWatch {
  /** Resolves when the filing has ended or asks somebody, or when the time is up or the caller has gone. */
  until(filingId: string, seconds: number, gone: AbortSignal): Promise<void>;
  close(): void;
}

export function createFilingWatch({ pool }: { pool: pg.Pool }): FilingWatch {
  const waiting = new Map<string, Set<() => void>>();
  let looking = false;
  let closed = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0 && !closed) {
      try {
        for (const { filingId, state, asked } of await standingsOf(pool, [...waiting.keys()])) {
          if (isEnd(state as FilingState) || waitsForPerson({ state, asked })) {
            for (const wake of waiting.get(filingId) ?? []) wake();
          }
        }
      } catch {
        // While PostgreSQL is away nothing is known; the waits end with their time.
      }
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    }
    looking = false;
  }

  return {
    until: (filingId, seconds, gone) =>
      new Promise((resolve) => {
        const own = waiting.get(filingId) ?? new Set();
        const end = () => {
          clearTimeout(timer);
          gone.removeEventListener('abort', end);
          own.delete(end);
          if (own.size === 0) waiting.delete(filingId);
          resolve();
        };
        const timer = setTimeout(end, Math.min(seconds, LONGEST_WAIT_S) * 1_000);
        gone.addEventListener('abort', end);
        waiting.set(filingId, own.add(end));
        void look();
      }),
    close() {
      closed = true;
      for (const all of [...waiting.values()]) for (const wake of [...all]) wake();
    },
  };
}

/** The seconds of `Prefer: wait=N`, 60 at most; 0 without it. */
export function preferredWait(header: string | string[] | undefined): number {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const [, seconds = '0'] = /(?:^|,)\s*wait=(\d{1,9})\s*(?:$|[,;])/i.exec(text.slice(0, 1_000)) ?? [];
  return Math.min(Number(seconds), LONGEST_WAIT_S);
}
