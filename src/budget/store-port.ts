import type { RateClass } from '../domain/names';

/** A ticket after a step of the queue. */
export interface TicketState {
  ticket: string;
  granted: boolean;
  /** Live tickets in front of it, over all processes. */
  ahead: number;
  /** Milliseconds until the slot that it can expect is free, as known now; 0 when granted. */
  waitMs: number;
}

interface StepOptions {
  rateClass: RateClass;
  /** Calls that the window holds. */
  limit: number;
  /** How long an unreported slot counts after its lease: window and guard, in milliseconds. */
  holdMs: number;
  leaseMs: number;
  /** UUIDs of this process's waiting calls, in their order. */
  tickets: string[];
}

/**
 * The shared state of a budget, for one API key and one process. Every call may be repeated, and every time in it is
 * the store's own clock at the moment of the call.
 */
export interface BudgetStore {
  /** Enters new tickets at the end of the queue, renews the leases of the others and grants what is due. */
  step(options: StepOptions): Promise<TicketState[]>;
  leave(tickets: string[]): Promise<void>;
  renew(tickets: string[], leaseMs: number, holdMs: number): Promise<void>;
  /** `agoMs`: since the headers were written. */
  written(ticket: string, rateClass: RateClass, holdMs: number, agoMs?: number): Promise<void>;
  answered(ticket: string, windowMs: number): Promise<void>;
  refused(ticket: string, rateClass: RateClass, windowMs: number): Promise<void>;
  unused(ticket: string): Promise<void>;
}
