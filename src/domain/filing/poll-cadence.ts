/** Computes when to ask for a request's status next. Pure: the same arguments give the same delay. */
import { estimateAnswerTimes, TYPICAL_MS, type AnswerTimes, type SeenAnswer } from './acknowledgement-times';

export interface PollBounds {
  /** Age of the request before which it is not polled. */
  firstMs: number;
  minMs: number;
  maxMs: number;
}

export interface Cadence {
  rateWindowMs: number;
  poll: PollBounds;
}

export interface PollSituation {
  ageMs: number;
  /** Requests answered lately, newest first; empty when nothing is known. */
  seen: readonly SeenAnswer[];
  openAgesMs: readonly number[];
  /** Open requests of this key. All of them share 100 calls a window with everything else. */
  openRequests: number;
  rateWindowMs: number;
  /** 0 to 1, constant for a request: spreads requests that were filed together. */
  spread: number;
}

/** Polls may take at most 60 of the window's 100 calls. */
const POLLS_PER_WINDOW = 60;
/** Interval, as a share of the longest one, at times when answers arrive at the average rate. */
const AVERAGE_SHARE = 0.32;
/** Upper bound of the first poll, as a multiple of `firstMs` and of the longest interval after `firstMs`. */
const FIRST_WITHIN = 5;
/** Before any answer, one is expected at this multiple of `firstMs`, 2 h at most: fast sandboxes are polled fast. */
const EXPECTED_AT = 8;
/** The age of a request at which its answer is expected as long as none was seen. */
export const typicalAnswerMs = ({ firstMs, minMs }: PollBounds): number =>
  Math.min(TYPICAL_MS, EXPECTED_AT * Math.max(firstMs, minMs));

/** Number of parts into which a wait is divided to sum up the poll rate over it. */
const STEPS = 24;

/**
 * Ms until the next poll: proportional to the root of `survival / density`, where polls times delay is least; never
 * more often than all open requests may in their rate class.
 */
export function nextPollDelayMs(situation: PollSituation, bounds: PollBounds): number {
  const { ageMs, seen, openAgesMs, openRequests, rateWindowMs, spread } = situation;
  const times = estimateAnswerTimes(seen, openAgesMs, typicalAnswerMs(bounds));
  const averageMs = bounds.maxMs * AVERAGE_SHARE;
  if (ageMs < bounds.firstMs) {
    const wait = {
      fromMs: bounds.firstMs,
      withinMs: FIRST_WITHIN * Math.min(bounds.firstMs, bounds.maxMs),
      polls: 0.5 + 0.3 * spread,
      averageMs,
    };
    return bounds.firstMs - ageMs + untilPollsAreDue(times, wait) + spread * bounds.minMs;
  }
  const shortest = Math.max(bounds.minMs, (openRequests / POLLS_PER_WINDOW) * rateWindowMs);
  const longest = Math.max(bounds.maxMs, shortest);
  return Math.max(shortest, untilPollsAreDue(times, { fromMs: ageMs, withinMs: longest, polls: 1, averageMs }));
}

/** The time after which the poll rate, summed from an age on, reaches `polls`; at most `withinMs`. */
function untilPollsAreDue(
  times: AnswerTimes,
  { fromMs, withinMs, polls, averageMs }: { fromMs: number; withinMs: number; polls: number; averageMs: number },
): number {
  const step = withinMs / STEPS;
  for (let [waited, due] = [0, polls]; waited < withinMs; waited += step) {
    const { survival, density } = times.at(fromMs + waited + step / 2);
    const rate = survival > 0 ? Math.sqrt((times.meanMs * density) / survival) / averageMs : 0;
    if (rate * step >= due) return waited + due / rate;
    due -= rate * step;
  }
  return withinMs;
}
