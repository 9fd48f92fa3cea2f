import type { RateClass } from '../domain/names';

/**
 * One call's slot. Report `written` when the headers are handed to the socket, then `answered` or `refused` (429);
 * or `unused`, which frees the slot at once. A slot that is only `written` counts until its guard time is over.
 */
export interface BudgetSlot {
  written(): Promise<void>;
  answered(): Promise<void>;
  refused(): Promise<void>;
  unused(): Promise<void>;
}

/** Grants calls of a rate class so that the service's limit is never exceeded (spec: "Limits"). */
export interface Budget {
  /** Waits for a slot. `onWaiting`: callers ahead. Rejects with {@link BudgetStoppedError} or the signal's reason. */
  acquire(
    rateClass: RateClass,
    options: { signal?: AbortSignal; onWaiting?: (ahead: number) => void },
  ): Promise<BudgetSlot>;
}

/** The worker is shutting down: the waiting call was not sent; another worker may make it later. */
export class BudgetStoppedError extends Error {
  override readonly name = 'BudgetStoppedError';

  constructor(message = 'The worker is shutting down; this call was not sent and will be made again later.') {
    super(message);
  }
}
