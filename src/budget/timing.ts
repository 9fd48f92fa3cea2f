/** All durations of a budget in ms. They scale with the window, so that tests with a short window are fast. */
export interface BudgetTiming {
  /** How long an answered call counts: the service's window plus the drift between two clocks. */
  windowMs: number;
  /** How long a written call without an answer counts: {@link windowMs} plus the guard. */
  holdMs: number;
  /** A process that does not renew for this long loses its places in the queue and its unwritten slots. */
  leaseMs: number;
  /** How often leases of unwritten slots are renewed. */
  renewMs: number;
  /** The longest sleep between two steps, which also renew leases. */
  stepMs: number;
}

/** Two clocks under correction differ by up to 0.1 %. Both sides read whole milliseconds. */
const DRIFT = 0.001;

/** The guard, from writing the headers to the service counting the call, as a part of the window: 2 s of 60 s. */
const GUARD_PART = 1 / 30;
const GUARD_MIN_MS = 250;

const LEASE_PART = 1 / 4;
const LEASE_MIN_MS = 2_000;
const LEASE_MAX_MS = 15_000;

const STEP_PART = 1 / 12;

/**
 * `guardMs` matters only for slow answers. Calls that take longer to *reach* the service can get a 429; a longer guard
 * reduces the throughput of slow classes.
 */
export function budgetTiming({ windowMs, guardMs }: { windowMs: number; guardMs?: number }): BudgetTiming {
  const guard = guardMs ?? Math.max(windowMs * GUARD_PART, GUARD_MIN_MS);
  const countedMs = windowMs + Math.ceil(windowMs * DRIFT) + 1;
  const leaseMs = Math.min(Math.max(windowMs * LEASE_PART, LEASE_MIN_MS), LEASE_MAX_MS);
  return {
    windowMs: countedMs,
    holdMs: countedMs + guard,
    leaseMs,
    renewMs: leaseMs / 3,
    stepMs: Math.min(windowMs * STEP_PART, leaseMs / 3),
  };
}

/** A moment by both clocks: the monotonic one stops while a machine sleeps, the wall clock may be set. */
export interface Moment {
  monotonic: number;
  wall: number;
}

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since a moment, by the clock that advanced more. */
export function elapsedMs({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
