/** When to ask for a request's status next, from an estimate of how long the authority takes. Pure. */

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

/** What the poll cadence goes by, beside the request itself. */
export interface PollLoad {
  /** Requests answered lately, newest first; empty when nothing is known. */
  seen: readonly SeenAnswer[];
  /** Open requests of this key. All of them share 100 calls a window with everything else. */
  openRequests: number;
  /** Of the youngest of them, {@link OPEN_USED}: those that are never answered must not outnumber today's. */
  openAgesMs: readonly number[];
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

/** Ms until the next poll: proportional to the root of `survival / density`, where polls times delay is least. */
export function nextPollDelayMs(
  situation: PollLoad & {
    ageMs: number;
    rateWindowMs: number;
    /** 0 to 1, constant for a request: spreads requests that were filed together. */
    spread: number;
  },
  bounds: PollBounds,
): number {
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
  times: ReturnType<typeof estimateAnswerTimes>,
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

/** When a request was answered, as far as polling can tell. Both are ages of the request in ms. */
export interface SeenAnswer {
  afterMs: number;
  byMs: number;
}

/** A log-logistic distribution: the share `1 / (1 + exp((ln age - centre) / width))` takes longer than an age. */
interface TimesPart {
  /** Natural logarithm of an age in ms. */
  centre: number;
  width: number;
  weight: number;
}

/** The typical time of a live acknowledgement by the specification (ms). */
const TYPICAL_MS = 2 * 3_600_000;

/** Counts like a few answers, and remains: its wide part shows an outage, and polls become rarer but never end. */
function prior(typicalMs: number): TimesPart[] {
  return [
    { centre: Math.log(typicalMs), width: 0.25, weight: 4 },
    { centre: Math.log(4 * typicalMs), width: 0.6, weight: 0.2 },
  ];
}

export const ANSWERS_USED = 200;
export const OPEN_USED = 100;
/** Weight of each answer relative to the next newer one: a change is learnt within some tens of requests. */
const FADING = 0.99;
const NARROWEST = 0.04;
/** The width of an answer without enough neighbours. */
const ALONE = 0.2;
/** An answer that the first poll found is taken to have come between this share of that age and the age. */
const EARLIEST_SHARE = 0.25;
const CENSORING_ROUNDS = 5;

/** The time to an answer, as a mixture of each answer (newest first) and the prior; open requests take longer. */
export function estimateAnswerTimes(
  seen: readonly SeenAnswer[],
  openAgesMs: readonly number[] = [],
  typicalMs = TYPICAL_MS,
) {
  const known = [...prior(typicalMs), ...partsOf(seen.slice(0, ANSWERS_USED))];
  const parts = withOpenRequests(known, openAgesMs.slice(0, OPEN_USED));
  const weights = total(known.map(({ weight }) => weight));
  return {
    /** Of the answers that were seen: open requests, which an outage keeps open, do not raise it. */
    meanMs: known.reduce((sum, { weight, centre }) => sum + weight * Math.exp(centre), 0) / weights,
    /** Above 0 ms: the share of requests whose answer takes longer, and the share answered per ms at that age. */
    at: (ageMs: number) => {
      const age = Math.log(ageMs);
      let survival = 0;
      let density = 0;
      for (const part of parts) {
        const longer = shareLonger(part, age);
        survival += part.weight * longer;
        density += (part.weight * longer * (1 - longer)) / part.width;
      }
      return { survival, density: density / ageMs };
    },
  };
}

function partsOf(seen: readonly SeenAnswer[]): TimesPart[] {
  const answers = seen.map(({ afterMs, byMs }, index) => {
    const latest = Math.log(Math.max(1, byMs));
    const earliest = Math.min(latest, Math.max(Math.log(Math.max(1, afterMs)), latest + Math.log(EARLIEST_SHARE)));
    return { centre: (earliest + latest) / 2, halfWidth: (latest - earliest) / 2, weight: FADING ** index };
  });
  answers.sort((a, b) => a.centre - b.centre);
  // Answers that are close together give a precise estimate there; a peak is not smoothed into the next one.
  const reach = Math.ceil(0.6 * Math.sqrt(answers.length));
  return answers.map(({ centre, halfWidth, weight }, index) => {
    const from = Math.max(0, index - reach);
    const to = Math.min(answers.length - 1, index + reach);
    const perNeighbour = ((answers[to]?.centre ?? centre) - (answers[from]?.centre ?? centre)) / Math.max(1, to - from);
    const alone = answers.length <= 2 * reach ? ALONE : 0;
    return { centre, width: Math.max(NARROWEST, (perNeighbour * reach) / 2, halfWidth / 2, alone), weight };
  });
}

/** The parts with weights that sum to 1. An open request counts the more, the fewer answers take as long. */
function withOpenRequests(parts: readonly TimesPart[], openAgesMs: readonly number[]): TimesPart[] {
  const known = parts.map((part) => part.weight);
  const open = openAgesMs
    .filter((ageMs) => ageMs >= 1)
    .map((ageMs) => {
      const longer = parts.map((part) => shareLonger(part, Math.log(ageMs)));
      return { longer, counts: (1 - weightedSum(longer, known) / total(known)) ** 2 };
    });
  let weights = known;
  for (let round = 0; round < CENSORING_ROUNDS && open.length > 0; round += 1) {
    const next = [...known];
    for (const { longer, counts } of open) {
      const all = weightedSum(longer, weights);
      longer.forEach((share, index) => (next[index]! += (counts * share * weights[index]!) / all));
    }
    weights = next;
  }
  const whole = total(weights);
  return parts.map((part, index) => ({ ...part, weight: weights[index]! / whole }));
}

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const weightedSum = (values: readonly number[], weights: readonly number[]) =>
  values.reduce((sum, value, index) => sum + value * weights[index]!, 0);

function shareLonger({ centre, width }: TimesPart, logAge: number): number {
  return 1 / (1 + Math.exp((logAge - centre) / width));
}
