/** When to ask for a request's status next. Pure: the same arguments give the same delay. */

export interface PollBounds {
  /** Age of the request at the first look. */
  firstMs: number;
  /** Shortest and longest time between two looks. */
  minMs: number;
  maxMs: number;
}

export interface PollSituation {
  /** Time since the submission. */
  ageMs: number;
  /** How long the authority took for recent requests, newest first; empty when nothing is known. */
  recentMs: readonly number[];
  /** Requests open for this key: each polls, and all of them share 100 calls a window with everything else. */
  openRequests: number;
  rateWindowMs: number;
  /** 0 to 1, constant for a request: spreads requests that were filed together. */
  spread: number;
}

/** What the specification says of a live acknowledgement, taken until the ledger has seen some. */
const TYPICAL_MS = 2 * 3_600_000;
/** Fewer samples than this say nothing about the next request. */
const MIN_SAMPLES = 3;
/** Dense from a little before the expected time until well after it. */
const DENSE_FROM = 0.8;
const DENSE_UNTIL = 1.5;
/** Polls may take at most 60 of the window's 100 calls. */
const POLLS_PER_WINDOW = 60;

/** The age at which an answer is expected: the median of what was seen lately. */
export function expectedAgeMs(recentMs: readonly number[], firstMs: number): number {
  if (recentMs.length < MIN_SAMPLES) return Math.max(TYPICAL_MS, firstMs);
  const sorted = [...recentMs].sort((a, b) => a - b);
  return Math.max(sorted[Math.floor(sorted.length / 2)] ?? TYPICAL_MS, firstMs);
}

/**
 * Milliseconds until the next look: sparse before an answer can be expected, dense around the expected time, sparse
 * after, and never so often that the open requests together leave their share of the rate class.
 */
export function nextPollDelayMs(situation: PollSituation, bounds: PollBounds): number {
  const { ageMs, recentMs, openRequests, rateWindowMs, spread } = situation;
  if (ageMs < bounds.firstMs) return bounds.firstMs - ageMs + spread * bounds.minMs;
  const expected = expectedAgeMs(recentMs, bounds.firstMs);
  const share = (openRequests / POLLS_PER_WINDOW) * rateWindowMs;
  const dense = Math.max(bounds.minMs, share);
  const sparse = Math.max(bounds.maxMs, dense);
  const denseFrom = expected * DENSE_FROM;
  if (ageMs < denseFrom) return Math.max(dense, Math.min(sparse, denseFrom - ageMs)) + spread * bounds.minMs;
  if (ageMs <= expected * DENSE_UNTIL) return dense * (1 + spread / 4);
  // Past the expected time the wait grows with the age, so that a request that takes a day costs few calls.
  const grown = dense + (ageMs - expected * DENSE_UNTIL) / 4;
  return Math.min(sparse, grown) * (1 + spread / 4);
}
