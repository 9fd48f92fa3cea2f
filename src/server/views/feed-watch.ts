import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { feedEnd, type FeedMark } from '../../ledger/events/feed';

const LOOK_EVERY_MS = 500;

/** Waits for events: one look at the end of the feed every half a second, for all callers together. */
export interface FeedWatch {
  /** Resolves when the feed does not end at the mark any more, the time is up or the caller has gone. */
  beyond(mark: FeedMark, ms: number, gone: AbortSignal): Promise<void>;
  close(): void;
}

export function createFeedWatch({ pool }: { pool: pg.Pool }): FeedWatch {
  const waiting = new Set<{ mark: FeedMark; wake: () => void }>();
  let looking = false;
  let closed = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0 && !closed) {
      try {
        const end = await feedEnd(pool);
        for (const { mark, wake } of [...waiting]) {
          if (mark.epoch !== end.epoch || mark.position !== end.position) wake();
        }
      } catch {
        // While PostgreSQL is away nothing is known; the waits end with their time.
      }
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    }
    looking = false;
  }

  return {
    beyond: (mark, ms, gone) =>
      new Promise((resolve) => {
        const own = { mark, wake: end };
        const timer = setTimeout(end, ms);
        function end() {
          clearTimeout(timer);
          gone.removeEventListener('abort', end);
          waiting.delete(own);
          resolve();
        }
        gone.addEventListener('abort', end);
        waiting.add(own);
        void look();
      }),
    close() {
      closed = true;
      for (const { wake } of [...waiting]) wake();
    },
  };
}
