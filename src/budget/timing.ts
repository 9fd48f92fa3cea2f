/** All durations of a budget in ms. They follow from the window: everything is quick in a short test window. */
export interface BudgetTiming {
  /** How long an answered call counts: the service's window, and a little for the drift between two clocks. */
  windowMs: number;
  /** How long a call that was written counts when no answer comes: {@link windowMs} and the guard. */
  holdMs: number;
  /** A process that is silent for this long loses its places in the queue and its unwritten slots. */
  leaseMs: number;
  /** How often leases of unwritten slots are renewed. */
  renewMs: number;
  /** The longest sleep between two steps, which also renew leases. */
  stepMs: number;
}

/** Clocks that are being corrected run up to 0.05 % fast or slow, and both sides read whole milliseconds. */
const DRIFT = 0.001;

/** The most time from writing the headers to the service counting the call, as a part of the window: 2 s of 60 s. */
const GUARD_PART = 1 / 30;
const GUARD_MIN_MS = 250;

const LEASE_PART = 1 / 4;
const LEASE_MIN_MS = 2_000;
const LEASE_MAX_MS = 15_000;

const STEP_PART = 1 / 12;

/**
 * `guardMs` matters only for slow answers. Calls that take longer to *reach* the service can meet a 429; a longer guard
 * lowers what slow classes get through.
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

/** A moment by both clocks: the monotonic one stands still while a machine sleeps, the wall clock may be set. */
export interface Moment {
  monotonic: number;
  wall: number;
}

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since a moment, by the clock that shows more of them. */
export function elapsedMs({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
