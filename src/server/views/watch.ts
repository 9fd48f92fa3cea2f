import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { feedEnd, type FeedMark } from '../../ledger/events';
import { standingsOf } from '../../ledger/filings/filing';
import { waitsForPerson } from '../../starter/filings/outcome';

/** The longest wait of a request, in seconds. */
export const LONGEST_WAIT_S = 60;

export interface Watch<T> {
  /** Resolves when `what` has come (true), the time is up, or the caller has disconnected. */
  until(what: T, ms: number, gone: AbortSignal): Promise<boolean>;
  close(): void;
}

/** Polls every `everyMs` while somebody waits. `look` gets what is waited for and returns which of it has come. */
export function createWatch<T>(everyMs: number, look: (waiting: T[]) => Promise<(what: T) => boolean>): Watch<T> {
  const waiting = new Set<{ what: T; wake: (hasCome: boolean) => void }>();
  let looking = false;
  let closed = false;

  async function watch(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0 && !closed) {
      try {
        const hasCome = await look([...waiting].map(({ what }) => what));
        for (const { what, wake } of [...waiting]) if (hasCome(what)) wake(true);
      } catch {
        // Nothing is known while PostgreSQL is away; the waits end by their own time.
      }
      await sleep(everyMs, undefined, { ref: false });
    }
    looking = false;
  }

  return {
    until: (what, ms, gone) =>
      new Promise((resolve) => {
        if (closed || gone.aborted) return resolve(false);
        const waiter = { what, wake: end };
        const giveUp = () => end(false);
        const timer = setTimeout(giveUp, ms);
        function end(hasCome: boolean) {
          clearTimeout(timer);
          gone.removeEventListener('abort', giveUp);
          waiting.delete(waiter);
          resolve(hasCome);
        }
        gone.addEventListener('abort', giveUp);
        waiting.add(waiter);
        void watch();
      }),
    close() {
      closed = true;
      for (const { wake } of [...waiting]) wake(false);
    },
  };
}

/** Waits until filings (by id) have ended or need a person, with one query a second. */
export function createFilingWatch({ pool }: { pool: pg.Pool }): Watch<string> {
  return createWatch(1_000, async (waiting) => {
    const standings = await standingsOf(pool, [...new Set(waiting)]);
    const over = standings.filter((standing) => standing.closed || waitsForPerson(standing));
    const ids = new Set(over.map(({ filingId }) => filingId));
    return (filingId) => ids.has(filingId);
  });
}

/** Waits until the feed's end has moved from a mark, with one query every half second. */
export function createFeedWatch({ pool }: { pool: pg.Pool }): Watch<FeedMark> {
  return createWatch(500, async () => {
    const end = await feedEnd(pool);
    return (mark) => mark.epoch !== end.epoch || mark.position !== end.position;
  });
}

/** The seconds of `Prefer: wait=N`, at most 60; 0 without it. */
export function preferredWait(header: string | string[] | undefined): number {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const [, seconds = '0'] = /(?:^|,)\s*wait=(\d{1,9})\s*(?:$|[,;])/i.exec(text.slice(0, 1_000)) ?? [];
  return Math.min(Number(seconds), LONGEST_WAIT_S);
}
