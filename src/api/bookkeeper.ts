import type { BudgetSlot } from '../budget/ports';
import type { ApiCall } from '../domain/service/operations';

/** Stores a call. A failure is logged and does not affect the call. */
export type Audit = (call: ApiCall) => void | Promise<void>;

/** The part of a pino logger that the client uses. */
export interface Logger {
  debug(details: object, message: string): void;
  warn(details: object, message: string): void;
}

/**
 * Reports the outcome of calls to budget and audit in the background: calls do not wait for it and never fail because
 * of it.
 */
export interface Bookkeeper {
  /** Reports to the budget; the reports of one slot are made in order. */
  note(slot: BudgetSlot | null, event: keyof BudgetSlot): void;
  audit(row: Omit<ApiCall, 'at'>): void;
  /** Resolves when everything reported so far has been stored or has failed. */
  settled(): Promise<void>;
}

export function createBookkeeper(options: { audit?: Audit; logger?: Logger; clock?: () => number }): Bookkeeper {
  const { audit, logger, clock = Date.now } = options;
  const pending = new Set<Promise<void>>();
  const lastOf = new WeakMap<BudgetSlot, Promise<void>>();

  function keep(work: Promise<void>, what: string): Promise<void> {
    const kept = work
      .catch((error: unknown) => logger?.warn({ what, err: error }, 'a call could not be recorded'))
      .finally(() => pending.delete(kept));
    pending.add(kept);
    return kept;
  }

  return {
    note: (slot, event) => {
      if (slot === null) return;
      const before = lastOf.get(slot);
      // The first report starts in this turn of the event loop: the stamp of a written request must not come late.
      const work = before === undefined ? attempt(() => slot[event]()) : before.then(() => slot[event]());
      lastOf.set(slot, keep(work, `The budget event ${event}`));
    },
    audit: (row) => {
      if (audit === undefined) return;
      void keep(
        attempt(async () => audit({ at: new Date(clock()), ...row })),
        'An API call',
      );
    },
    settled: async () => {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/** A port that throws synchronously must not affect the call either. */
function attempt(work: () => Promise<void>): Promise<void> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}
