import { randomUUID } from 'node:crypto';
import type { RateClass } from '../domain/names';
import { thisMoment, type Moment, type BudgetTiming } from './timing';
import type { GrantedTicket } from './slot';
import type { BudgetStore, TicketState } from './store';

/** The budget's store was unreachable for longer than a lease. The call was not sent. */
export class BudgetUnavailableError extends Error {
  override readonly name = 'BudgetUnavailableError';

  constructor(cause: unknown) {
    super('The call budget in PostgreSQL cannot be reached; this call was not sent and will be made again later.', {
      cause,
    });
  }
}

interface WaitingCall {
  ticket: string;
  ahead: number;
  onWaiting?: (ahead: number) => void;
  grant: (leasedFrom: Moment) => void;
  fail: (error: Error) => void;
}

/** This process's callers in the shared queue of a class. One loop of steps and sleeps serves all of them. */
export function createTicketQueue(args: {
  store: BudgetStore;
  timing: BudgetTiming;
  rateClass: RateClass;
  /** Calls per window. */
  limit: number;
  /** Called with a slot that was granted after its caller had left. */
  onUnclaimed: (granted: GrantedTicket) => void;
}) {
  const { store, timing, rateClass, limit, onUnclaimed } = args;
  const waiters = new Map<string, WaitingCall>();
  /** Tickets of callers that left; removed between two steps, because a running step would add them again. */
  const removed = new Set<string>();
  let running: Promise<void> | undefined;
  let wake: (() => void) | undefined;
  let changed = false;

  /** Sleeps for `ms`, or until a caller arrives or leaves. */
  async function pause(ms: number): Promise<void> {
    if (changed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.ceil(ms) + 1);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wake = undefined;
  }

  function wakeUp(): void {
    changed = true;
    wake?.();
    running ??= serve();
  }

  async function serve(): Promise<void> {
    let leasedUntil = performance.now() + timing.leaseMs;
    while (waiters.size > 0 || removed.size > 0) {
      changed = false;
      try {
        await deleteRemoved();
        if (waiters.size === 0) continue;
        const leasedFrom = thisMoment();
        const states = await store.step({
          rateClass,
          limit,
          leaseMs: timing.leaseMs,
          holdMs: timing.holdMs,
          tickets: [...waiters.keys()],
        });
        leasedUntil = leasedFrom.monotonic + timing.leaseMs;
        const nextIn = handOut(states, leasedFrom);
        if (waiters.size > 0) await pause(Math.min(nextIn, timing.stepMs));
      } catch (error) {
        // A short interruption keeps the places in the queue. Once the lease expired, Temporal retries the tasks.
        if (performance.now() >= leasedUntil) rejectAll(new BudgetUnavailableError(error));
        else {
          reportPositions();
          await pause(timing.stepMs);
        }
      }
    }
    // Set in the same turn as the last check of the waiters, so that a later caller starts the loop again.
    running = undefined;
  }

  async function deleteRemoved(): Promise<void> {
    if (removed.size === 0) return;
    const tickets = [...removed];
    removed.clear();
    // If the store does not answer, the tickets expire with their lease.
    await store.leave(tickets).catch(() => undefined);
  }

  /** Gives granted slots to their callers. @returns ms until the next slot can be expected */
  function handOut(states: TicketState[], leasedFrom: Moment): number {
    let nextIn = Infinity;
    for (const state of states) {
      const waiter = waiters.get(state.ticket);
      if (!state.granted) {
        nextIn = Math.min(nextIn, state.waitMs);
        if (waiter) waiter.ahead = state.ahead;
      } else if (waiter) {
        waiters.delete(state.ticket);
        waiter.grant(leasedFrom);
      } else {
        // The caller left during this step.
        removed.delete(state.ticket);
        onUnclaimed({ ticket: state.ticket, leasedFrom });
      }
    }
    reportPositions();
    return nextIn;
  }

  function reportPositions(): void {
    for (const waiter of [...waiters.values()]) {
      try {
        waiter.onWaiting?.(waiter.ahead);
      } catch (error) {
        rejectWaiter(waiter, error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  function rejectWaiter(waiter: WaitingCall, error: Error): void {
    if (!waiters.delete(waiter.ticket)) return;
    removed.add(waiter.ticket);
    waiter.fail(error);
  }

  function rejectAll(error: Error): void {
    for (const waiter of [...waiters.values()]) rejectWaiter(waiter, error);
  }

  return {
    /** Joins the queue and waits. @returns the granted ticket. Rejects with the signal's reason. */
    async wait(args: { signal?: AbortSignal; onWaiting?: (ahead: number) => void }): Promise<GrantedTicket> {
      const { signal, onWaiting } = args;
      signal?.throwIfAborted();
      return new Promise((resolve, reject) => {
        const end = () => signal?.removeEventListener('abort', giveUp);
        const waiter: WaitingCall = {
          ticket: randomUUID(),
          ahead: 0,
          onWaiting,
          grant: (leasedFrom) => {
            end();
            resolve({ ticket: waiter.ticket, leasedFrom });
          },
          fail: (error) => {
            end();
            reject(error);
          },
        };
        const giveUp = () => {
          rejectWaiter(waiter, signal?.reason as Error);
          wakeUp();
        };
        waiters.set(waiter.ticket, waiter);
        signal?.addEventListener('abort', giveUp, { once: true });
        wakeUp();
      });
    },

    /** Runs a step at once, for a slot that was given back. */
    step(): void {
      if (waiters.size > 0) wakeUp();
    },

    /** Rejects all waiting callers with `error` and removes their tickets from the queue. */
    async rejectAll(error: Error): Promise<void> {
      rejectAll(error);
      wakeUp();
      await running;
    },
  };
}
