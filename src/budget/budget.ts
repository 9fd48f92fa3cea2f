import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RATE_LIMITS, type RateClass } from '../domain/names';
import { createBudgetGate, type BudgetGate } from './gate';
import { createBudgetLine, type BudgetLine } from './line';
import { BudgetStoppedError, type Budget, type BudgetSlot } from './budget-port';
import { createSlotReporter, type GrantedTicket } from './slot';
import type { BudgetStore } from './store-port';
import { budgetTiming } from './timing';

export interface BudgetMetrics {
  /** A call got its slot after `ms` milliseconds. */
  granted(rateClass: RateClass, ms: number): void;
  /** The service answered 429: something else uses the key. The class is closed for one window. */
  refused(rateClass: RateClass): void;
}

export interface BudgetOptions {
  store: BudgetStore;
  /** Length of the service's rate window in milliseconds (spec: "Limits", 60 s). */
  windowMs: number;
  /** Most milliseconds between writing a call and the service counting it; default 1/30 of the window, at least 250. */
  guardMs?: number;
  /** Calls per window; default the service's limits. */
  limits?: Record<RateClass, number>;
  /** Most tasks of a class in this process; default {@link DEFAULT_MAX_TASKS}. */
  maxTasks?: Partial<Record<RateClass, number>>;
  metrics?: BudgetMetrics;
  /** Where the bookkeeping of a call could not be stored, after it was tried for a while. */
  onLostReport?: (error: unknown) => void;
}

export interface StoppableBudget extends Budget {
  /** The gate of a class, for the slot supplier of its worker. */
  gate(rateClass: RateClass): BudgetGate;
  /**
   * Sends all waiting callers away with {@link BudgetStoppedError}, now and from now on, and shuts the gates. Calls
   * under way go on. Meant for SIGTERM, ahead of the workers' own shutdown: Temporal tells activities only after its
   * grace time. The callers are gone at once; the store is told within {@link STOP_WITHIN_MS}, or the leases tell it.
   */
  stop(): Promise<void>;
  /**
   * {@link stop}, then waits until what became of the calls is stored, at most {@link CLOSE_WITHIN_MS}: what a silent
   * store was not told counts as used until its guard runs out. Call it when no call is under way any more.
   */
  close(): Promise<void>;
}

/** Slow calls overlap up to this many per class; more tasks would only hold memory. */
const DEFAULT_MAX_TASKS = 20;

/** A stop waits this long for its tickets to be taken out of the line. */
const STOP_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 3_000;

/** The key of a budget instead of the API key: its SHA-256, hex. */
export function hashOfKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex');
}

/**
 * The budget of one API key, shared by all processes that use the same store: never more calls of a class in any
 * window, at the service's clock, than its limit (spec: "Limits"). Slots are granted in the order in which the callers
 * came, over all processes, and as fast as the window has room.
 */
export function createBudget(options: BudgetOptions): StoppableBudget {
  const { store, limits = RATE_LIMITS, maxTasks = {}, metrics, onLostReport = () => undefined } = options;
  const timing = budgetTiming(options);
  const reporter = createSlotReporter({ store, timing, onLostReport });
  const lines = new Map<RateClass, BudgetLine>();
  const gates = new Map<RateClass, BudgetGate>();
  let stopped = false;

  function lineOf(rateClass: RateClass): BudgetLine {
    const onUnclaimed = (granted: GrantedTicket) => void slotOf(granted, rateClass).unused();
    return ensure(lines, rateClass, () =>
      createBudgetLine({ store, timing, rateClass, limit: limits[rateClass], onUnclaimed }),
    );
  }

  function gateOf(rateClass: RateClass): BudgetGate {
    const gate = ensure(gates, rateClass, () =>
      createBudgetGate({ maxTasks: maxTasks[rateClass] ?? DEFAULT_MAX_TASKS }),
    );
    if (stopped) gate.shut();
    return gate;
  }

  function slotOf(granted: GrantedTicket, rateClass: RateClass): BudgetSlot {
    const slot = reporter.slot(granted, rateClass);
    return {
      ...slot,
      unused: () => slot.unused().finally(() => lines.get(rateClass)?.look()),
      refused: () => {
        metrics?.refused(rateClass);
        return slot.refused();
      },
    };
  }

  async function stop(): Promise<void> {
    stopped = true;
    // First the gates: a task that came now would be sent away at once, and the next, and the next.
    for (const gate of gates.values()) gate.shut();
    const dismissed = Promise.all([...lines.values()].map((line) => line.dismiss(new BudgetStoppedError())));
    await Promise.race([dismissed, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  }

  return {
    gate: gateOf,

    async acquire(rateClass, { signal, onWaiting }) {
      if (stopped) throw new BudgetStoppedError();
      const gate = gateOf(rateClass);
      const from = performance.now();
      gate.waits();
      try {
        const granted = await lineOf(rateClass).wait({ signal, onWaiting });
        metrics?.granted(rateClass, performance.now() - from);
        return slotOf(granted, rateClass);
      } finally {
        gate.goesOn();
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

function ensure<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}
