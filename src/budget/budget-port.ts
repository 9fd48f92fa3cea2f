import type { RateClass } from '../domain/names';

/**
 * The slot of one call in its rate class. The client reports the progress of the call, in this order: `written` at the
 * moment the request's headers are handed to the socket, then `answered` when the answer's headers came or `refused`
 * for a 429. `unused` reports that nothing was written, which gives the slot back at once. A slot whose `written` is
 * followed by nothing (a reset, a time-out) counts as used until its guard runs out.
 */
export interface BudgetSlot {
  written(): Promise<void>;
  answered(): Promise<void>;
  refused(): Promise<void>;
  unused(): Promise<void>;
}

/** Grants calls of a rate class so that the service's limit is never exceeded (spec: "Limits"). */
export interface Budget {
  /**
   * Waits for a slot. Rejects with {@link BudgetStoppedError} when the worker is shutting down, and with the signal's
   * reason when it is aborted. `onWaiting` is called repeatedly with the number of callers ahead.
   */
  acquire(
    rateClass: RateClass,
    options: { signal?: AbortSignal; onWaiting?: (ahead: number) => void; exporterId?: string },
  ): Promise<BudgetSlot>;
}

/** The worker is shutting down: the waiting call was not sent and may be made later, by another worker. */
export class BudgetStoppedError extends Error {
  override readonly name = 'BudgetStoppedError';

  constructor(message = 'The worker is shutting down; this call was not sent and will be made again later.') {
    super(message);
  }
}
