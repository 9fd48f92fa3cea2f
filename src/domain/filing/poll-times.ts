/** When a request is polled next: a fixed schedule of its age. */
import { HOUR_MS, MINUTE_MS } from '../dates';

export interface PollTimes {
  /** Since the attempt began. */
  ageMs: number;
  /** Requests without an outcome, which share one key's 100 calls a minute with everything else. */
  openRequests: number;
  /** The age of the first poll, and the shortest and longest time between two. */
  pollFirstMs: number;
  pollMinMs: number;
  pollMaxMs: number;
}

/** The age at which the specification expects a live answer. */
const TYPICAL_MS = 2 * HOUR_MS;
/** Where requests are first polled after seconds, as in a sandbox, answers are expected early too. */
const TYPICAL_OF_FIRST = 8;
/** The time to the next poll, as a share of the distance from the expected age. */
const SHARE = 0.25;
/** Polls that may be made in a minute. */
const POLLS_A_MINUTE = 60;

/**
 * Ms until the next poll: sparse until an answer can come, dense around two hours, sparse after. It is at most
 * `pollMaxMs`, unless more requests are open than can be asked in that time.
 */
export function pollDelayMs({ ageMs, openRequests, pollFirstMs, pollMinMs, pollMaxMs }: PollTimes): number {
  const shortest = Math.max(pollMinMs, (openRequests / POLLS_A_MINUTE) * MINUTE_MS);
  if (ageMs < pollFirstMs) return Math.max(pollFirstMs - ageMs, shortest);
  const expectedMs = Math.min(TYPICAL_MS, TYPICAL_OF_FIRST * Math.max(pollFirstMs, pollMinMs));
  return Math.max(shortest, Math.min(SHARE * Math.abs(ageMs - expectedMs), pollMaxMs));
}
