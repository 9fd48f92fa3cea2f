import type { RateClass } from '../domain/names';

/**
 * One call's slot. Reported in this order: `written` when the headers are handed to the socket, `answered` or `refused`
 * (429); or `unused`, which frees it at once. `written` without more counts until its guard runs out.
 */
export interface BudgetSlot {
  written(): Promise<void>;
  answered(): Promise<void>;
  refused(): Promise<void>;
  unused(): Promise<void>;
}

/** Grants calls of a rate class so that the service's limit is never exceeded (spec: "Limits"). */
export interface Budget {
  /** Waits for a slot. Rejects with {@link BudgetStoppedError}, or the signal's reason. `onWaiting`: callers ahead. */
  acquire(
    rateClass: RateClass,
    options: { signal?: AbortSignal; onWaiting?: (ahead: number) => void },
  ): Promise<BudgetSlot>;
}

/** The worker is shutting down: the waiting call was not sent and may be made later, by another worker. */
export class BudgetStoppedError extends Error {
  override readonly name = 'BudgetStoppedError';

  constructor(message = 'The worker is shutting down; this call was not sent and will be made again later.') {
    super(message);
  }
}
