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
