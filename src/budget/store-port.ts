import type { RateClass } from '../domain/names';

/** What became of one ticket in a step of the line. */
export interface TicketState {
  ticket: string;
  granted: boolean;
  /** Live tickets in front of it, over all processes. */
  ahead: number;
  /** Milliseconds until the slot that it can expect is free, as known now. */
  waitMs: number;
}

/**
 * The shared memory of a budget, for one API key and one process. Every call may be repeated without harm, and every
 * time in it is the store's own clock at the moment of the call.
 */
export interface BudgetStore {
  /** Enters new tickets at the end of the line, renews the leases of the others and grants what is due. */
  step(options: {
    rateClass: RateClass;
    limit: number;
    holdMs: number;
    leaseMs: number;
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
