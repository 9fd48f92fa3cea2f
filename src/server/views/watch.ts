import { setTimeout as sleep } from 'node:timers/promises';

/** Waits of many callers that one look serves. */
export interface Watch<T> {
  /** Resolves when a look says that it has come, or when the time is up or the caller has gone. */
  until(what: T, ms: number, gone: AbortSignal): Promise<void>;
  close(): void;
}

/** Looks every `everyMs` while anybody waits; `look` gets what is waited for, and answers how to tell what has come. */
export function createWatch<T>(everyMs: number, look: (waiting: T[]) => Promise<(what: T) => boolean>): Watch<T> {
  const waiting = new Set<{ what: T; wake: () => void }>();
  let looking = false;
  let closed = false;

  async function watch(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0 && !closed) {
      try {
        const hasCome = await look([...waiting].map(({ what }) => what));
        for (const { what, wake } of [...waiting]) if (hasCome(what)) wake();
      } catch {
        // While PostgreSQL is away nothing is known; the waits end with their time.
      }
      await sleep(everyMs, undefined, { ref: false });
    }
    looking = false;
  }

  return {
    until: (what, ms, gone) =>
      new Promise((resolve) => {
        const own = { what, wake: end };
        const timer = setTimeout(end, ms);
        function end() {
          clearTimeout(timer);
          gone.removeEventListener('abort', end);
          waiting.delete(own);
          resolve();
        }
        gone.addEventListener('abort', end);
        waiting.add(own);
        void watch();
      }),
    close() {
      closed = true;
      for (const { wake } of [...waiting]) wake();
    },
  };
}
