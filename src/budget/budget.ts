import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { modeOfKey, RATE_CLASSES, RATE_LIMITS, type RateClass } from '../domain/names';
import { createBudgetGate, type BudgetGate } from './gate';
import { createTicketQueue } from './ticket-queue';
import { BudgetStoppedError, type Budget, type BudgetSlot, createSlotReporter, type GrantedTicket } from './slot';
import type { BudgetStore } from './store';
import { budgetTiming } from './timing';

export interface BudgetOptions {
  store: BudgetStore;
  /** Length of the service's rate window in milliseconds (spec: "Limits", 60 s). */
  windowMs: number;
  /** The most ms between writing a call and the service counting it; default 1/30 of the window, at least 250. */
  guardMs?: number;
  /** Calls per window; default the service's limits. */
  limits?: Record<RateClass, number>;
  /** The most tasks of a class in this process; default {@link MAX_TASKS}. */
  maxTasks?: number;
  metrics?: {
    /** A call got its slot after `ms` milliseconds. */
    granted(rateClass: RateClass, ms: number): void;
    /** The service answered 429, so something else uses the key; the class is closed for one window. */
    refused(rateClass: RateClass): void;
  };
  /** Called when a report of a call could not be stored after several attempts. */
  onLostReport?: (error: unknown) => void;
}

export interface StoppableBudget extends Budget {
  /** The gate of a class, for its worker's slot supplier. */
  gate(rateClass: RateClass): BudgetGate;
  /**
   * Rejects all waiting callers with {@link BudgetStoppedError} and shuts the gates; calls in progress continue. Call
   * it before the workers shut down. Tickets are removed within {@link STOP_WITHIN_MS}, or expire.
   */
  stop(): Promise<void>;
  /** {@link stop}, then waits for reports, at most {@link CLOSE_WITHIN_MS}. Unreported slots count as used. */
  close(): Promise<void>;
}

/** The most overlapping calls of a class; more tasks would only use memory. */
const MAX_TASKS = 20;

/** How long a stop waits for its tickets to be removed from the queue. */
const STOP_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 3_000;

/** The API key's mode and SHA-256, hex; identifies the budget instead of the key. */
export function hashOfKey(apiKey: string): string {
  return `${modeOfKey(apiKey)}:${createHash('sha256').update(apiKey).digest('hex')}`;
}

/**
 * The call budget of one API key, shared by all processes of a store. No window, by the service's clock, gets more
 * calls of a class than its limit (spec: "Limits"); calls are granted in order of arrival, as early as possible.
 */
export function createBudget(options: BudgetOptions): StoppableBudget {
  const { store, limits = RATE_LIMITS, maxTasks = MAX_TASKS, metrics, onLostReport = () => undefined } = options;
  const timing = budgetTiming(options);
  const reporter = createSlotReporter({ store, timing, onLostReport });
  const classes = Object.fromEntries(
    RATE_CLASSES.map((rateClass) => {
      const onUnclaimed = (granted: GrantedTicket) => void slotOf(granted, rateClass).unused();
      const queue = createTicketQueue({ store, timing, rateClass, limit: limits[rateClass], onUnclaimed });
      return [rateClass, { queue, gate: createBudgetGate({ maxTasks }) }];
    }),
  ) as Record<RateClass, { queue: ReturnType<typeof createTicketQueue>; gate: BudgetGate }>;
  let stopped = false;

  function slotOf(granted: GrantedTicket, rateClass: RateClass): BudgetSlot {
    const slot = reporter.slot(granted, rateClass);
    return {
      ...slot,
      unused: () => slot.unused().finally(() => classes[rateClass].queue.step()),
      refused: () => {
        metrics?.refused(rateClass);
        return slot.refused();
      },
    };
  }

  async function stop(): Promise<void> {
    stopped = true;
    // Shut the gates first; otherwise tasks would keep arriving and be rejected one by one.
    for (const { gate } of Object.values(classes)) gate.shut();
    const rejected = Promise.all(Object.values(classes).map(({ queue }) => queue.rejectAll(new BudgetStoppedError())));
    await Promise.race([rejected, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  }

  return {
    gate: (rateClass) => classes[rateClass].gate,

    async acquire(rateClass, { signal, onWaiting }) {
      if (stopped) throw new BudgetStoppedError();
      const { gate, queue } = classes[rateClass];
      const from = performance.now();
      gate.startsWaiting();
      try {
        const granted = await queue.wait({ signal, onWaiting });
        metrics?.granted(rateClass, performance.now() - from);
        return slotOf(granted, rateClass);
      } finally {
        gate.stopsWaiting();
      }
    },

    stop,

    async close() {
      await stop();
      await Promise.race([reporter.settled(), sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      reporter.close();
    },
  };
}
