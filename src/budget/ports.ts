import type { RateClass } from '../domain/names';

export interface TicketState {
  ticket: string;
  granted: boolean;
  /** Live tickets in front of it, over all processes. */
  ahead: number;
  /** Milliseconds until the slot that it can expect is free, as known now; 0 when granted. */
  waitMs: number;
}

/** A budget's shared state. Every call may be repeated; its times are the store's own clock. */
export interface BudgetStore {
  /** Enters new tickets at the end of the queue, renews the leases of the others and grants what is due. */
  step(options: {
    rateClass: RateClass;
    /** Calls that the window holds. */
    limit: number;
    /** How long an unreported slot counts after its lease: window and guard, in milliseconds. */
    holdMs: number;
    leaseMs: number;
    /** UUIDs of this process's waiting calls, in their order. */
    tickets: string[];
  }): Promise<TicketState[]>;
  leave(tickets: string[]): Promise<void>;
  renew(tickets: string[], leaseMs: number, holdMs: number): Promise<void>;
  /** `agoMs`: since the headers were written. */
  written(ticket: string, rateClass: RateClass, holdMs: number, agoMs?: number): Promise<void>;
  answered(ticket: string, windowMs: number): Promise<void>;
  refused(ticket: string, rateClass: RateClass, windowMs: number): Promise<void>;
  unused(ticket: string): Promise<void>;
}

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
