/** Data that the main thread of a worker shares with its health thread. */

/** The result of one check. */
export interface ReadinessCheck {
  /** `postgresql`, `temporal`, `pollers`, `stopping`. */
  name: string;
  ok: boolean;
  /** The problem, or the state; without secrets. */
  message: string;
}

/** From the main thread to the health thread. */
export type HealthMessage = { checks: ReadinessCheck[]; atNs: bigint };

/** Passed to the health thread at its start. */
export interface HealthThreadData {
  host: string;
  port: number;
  /** One 64-bit number: when the main thread's event loop last ran, by `process.hrtime`, which all threads share. */
  beat: SharedArrayBuffer;
  beatLimitMs: number;
  checksLimitMs: number;
}

/** From the health thread to the main thread: it is listening, or it cannot. */
export type HealthThreadMessage = { port: number } | { error: string };

const NS_PER_MS = 1_000_000n;

export function beatNow(beat: SharedArrayBuffer): void {
  Atomics.store(new BigInt64Array(beat), 0, process.hrtime.bigint());
}

/** Milliseconds since the main thread's event loop last ran. */
export function msSinceBeat(beat: SharedArrayBuffer): number {
  return msSince(Atomics.load(new BigInt64Array(beat), 0));
}

export function msSince(thenNs: bigint): number {
  return Number((process.hrtime.bigint() - thenNs) / NS_PER_MS);
}
