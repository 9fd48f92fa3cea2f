import { randomUUID } from 'node:crypto';
import type { RateClass } from '../domain/names';
import { BudgetUnavailableError } from './budget-errors';
import { thisMoment, type Moment } from './moment';
import type { GrantedTicket } from './slot';
import type { BudgetStore, TicketState } from './store-port';
import type { BudgetTiming } from './timing';

export interface LineOptions {
  store: BudgetStore;
  timing: BudgetTiming;
  rateClass: RateClass;
  /** Calls that a window holds. */
  limit: number;
  /** A slot was granted to a caller that has gone meanwhile. */
  onUnclaimed: (granted: GrantedTicket) => void;
}

interface Waiter {
  ticket: string;
  ahead: number;
  onWaiting?: (ahead: number) => void;
  grant: (askedAt: Moment) => void;
  fail: (error: Error) => void;
}

/**
 * This process's callers in the line of one rate class. One loop serves them all: a step in the store, then sleep until
 * the first of them can expect its slot, within bounds. No connection is held in between.
 */
export function createBudgetLine({ store, timing, rateClass, limit, onUnclaimed }: LineOptions) {
  const waiters = new Map<string, Waiter>();
  /** Tickets of callers that gave up. They leave between two steps, or a step under way would enter them again. */
  const departed = new Set<string>();
  let running: Promise<void> | undefined;
  let wake: (() => void) | undefined;
  let changed = false;

  /** Sleeps until `ms` have passed or a caller comes or goes. */
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

  function stir(): void {
    changed = true;
    wake?.();
    running ??= serve();
  }

  async function serve(): Promise<void> {
    let placeKeptUntil = performance.now() + timing.leaseMs;
    while (waiters.size > 0 || departed.size > 0) {
      changed = false;
      try {
        await dismissDeparted();
        if (waiters.size === 0) continue;
        const askedAt = thisMoment();
        const states = await store.step({
          rateClass,
          limit,
          leaseMs: timing.leaseMs,
          holdMs: timing.holdMs,
          tickets: [...waiters.keys()],
        });
        placeKeptUntil = askedAt.monotonic + timing.leaseMs;
        const nextIn = settle(states, askedAt);
        if (waiters.size > 0) await pause(Math.min(nextIn, timing.lookMs));
      } catch (error) {
        // A short interruption keeps the place in the line. Once the lease is gone so is the place, and trying again is
        // for whoever runs the task.
        if (performance.now() >= placeKeptUntil) failAll(new BudgetUnavailableError(error));
        else {
          tellPlaces();
          await pause(timing.lookMs);
        }
      }
    }
    // In the same turn as the last look at the waiters: a caller that comes after it starts the loop anew.
    running = undefined;
  }

  async function dismissDeparted(): Promise<void> {
    if (departed.size === 0) return;
    const tickets = [...departed];
    departed.clear();
    // Where the store cannot be told, the lease ends the ticket.
    await store.leave(tickets).catch(() => undefined);
  }

  /** Hands out what was granted; answers when the next slot can be expected, in milliseconds. */
  function settle(states: TicketState[], askedAt: Moment): number {
    let nextIn = Infinity;
    for (const state of states) {
      const waiter = waiters.get(state.ticket);
      if (!state.granted) {
        nextIn = Math.min(nextIn, state.waitMs);
        if (waiter) waiter.ahead = state.ahead;
      } else if (waiter) {
        waiters.delete(state.ticket);
        waiter.grant(askedAt);
      } else {
        // Its caller gave up during this step.
        departed.delete(state.ticket);
        onUnclaimed({ ticket: state.ticket, askedAt });
      }
    }
    tellPlaces();
    return nextIn;
  }

  function tellPlaces(): void {
    for (const waiter of [...waiters.values()]) {
      try {
        waiter.onWaiting?.(waiter.ahead);
      } catch (error) {
        sendAway(waiter, error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  function sendAway(waiter: Waiter, error: Error): void {
    if (!waiters.delete(waiter.ticket)) return;
    departed.add(waiter.ticket);
    waiter.fail(error);
  }

  function failAll(error: Error): void {
    for (const waiter of [...waiters.values()]) sendAway(waiter, error);
  }

  return {
    /** Waits at the end of the line; resolves with the ticket that was granted. Rejects with the signal's reason. */
    async wait({
      signal,
      onWaiting,
    }: {
      signal?: AbortSignal;
      onWaiting?: (ahead: number) => void;
    }): Promise<GrantedTicket> {
      signal?.throwIfAborted();
      return new Promise((resolve, reject) => {
        const end = () => signal?.removeEventListener('abort', giveUp);
        const waiter: Waiter = {
          ticket: randomUUID(),
          ahead: 0,
          onWaiting,
          grant: (askedAt) => {
            end();
            resolve({ ticket: waiter.ticket, askedAt });
          },
          fail: (error) => {
            end();
            reject(error);
          },
        };
        const giveUp = () => {
          sendAway(waiter, signal?.reason as Error);
          stir();
        };
        waiters.set(waiter.ticket, waiter);
        signal?.addEventListener('abort', giveUp, { once: true });
        stir();
      });
    },

    /** A slot was given back: looks at once whether it is the turn of a caller here. */
    look(): void {
      if (waiters.size > 0) stir();
    },

    /** Sends all waiting callers away with `error` and takes their tickets out of the line. */
    async dismiss(error: Error): Promise<void> {
      failAll(error);
      stir();
      await running;
    },
  };
}

export type BudgetLine = ReturnType<typeof createBudgetLine>;
