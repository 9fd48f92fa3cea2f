/** When to poll a request next, from an estimate of how long the authority takes. Pure. */

export interface Cadence {
  rateWindowMs: number;
  poll: {
    /** The age at which a request may first be polled. */
    firstMs: number;
    minMs: number;
    maxMs: number;
  };
}

/** What the poll cadence depends on, beside the request itself. */
export interface PollLoad {
  /** Recently answered requests, newest first. */
  seen: readonly SeenAnswer[];
  /** Open requests of this API key, which share its 100 calls a window with everything else. */
  openRequests: number;
  /** Ages of the youngest {@link OPEN_USED}: requests that are never answered must not outweigh recent ones. */
  openAgesMs: readonly number[];
}

/** Polls may take at most 60 of the window's 100 calls. */
const POLLS_PER_WINDOW = 60;
/** Interval while answers arrive at the average rate, as a share of the longest interval. */
const AVERAGE_SHARE = 0.32;
/** Upper bound of the first poll, as a multiple of `firstMs` and of the longest interval after `firstMs`. */
const FIRST_WITHIN = 5;
/** As long as no answer was seen, one is expected at this multiple of `firstMs`: fast sandboxes are polled fast. */
const EXPECTED_AT = 8;
/** The age at which an answer is expected as long as none was seen; at most 2 h. */
export const typicalAnswerMs = ({ firstMs, minMs }: Cadence['poll']): number =>
  Math.min(TYPICAL_MS, EXPECTED_AT * Math.max(firstMs, minMs));

/** Number of steps in which the poll rate is integrated over a wait. */
const STEPS = 24;

/** Ms until the next poll: proportional to the root of `survival / density`, which minimises polls times delay. */
export function nextPollDelayMs(
  situation: PollLoad & {
    ageMs: number;
    rateWindowMs: number;
    /** 0 to 1, constant for a request; spreads the polls of requests that were filed together. */
    spread: number;
  },
  bounds: Cadence['poll'],
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

/** The time until the poll rate, integrated from `fromMs`, reaches `polls`; at most `withinMs`. */
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

/** A request was answered between these two ages (ms): its last poll without and its first poll with the answer. */
export interface SeenAnswer {
  afterMs: number;
  byMs: number;
}

/** A log-logistic distribution: the share `1 / (1 + exp((ln age - centre) / width))` takes longer than `age`. */
interface TimesPart {
  /** Natural logarithm of the age in ms. */
  centre: number;
  width: number;
  weight: number;
}

/** The typical time of a live acknowledgement according to the specification (ms). */
const TYPICAL_MS = 2 * 3_600_000;

/** The prior counts like a few answers. Its wide part stands for outages, so that polls become rarer but never end. */
function prior(typicalMs: number): TimesPart[] {
  return [
    { centre: Math.log(typicalMs), width: 0.25, weight: 4 },
    { centre: Math.log(4 * typicalMs), width: 0.6, weight: 0.2 },
  ];
}

export const ANSWERS_USED = 200;
export const OPEN_USED = 100;
/** Weight of each answer relative to the next newer one, so that a change is learnt within some tens of requests. */
const FADING = 0.99;
const NARROWEST = 0.04;
/** The width of an answer without enough neighbours. */
const ALONE = 0.2;
/** The earliest assumed age of an answer, as a share of the age at which a poll found it. */
const EARLIEST_SHARE = 0.25;
const CENSORING_ROUNDS = 5;

/** Estimates the time to an answer: a mixture of seen answers (newest first) and the prior, given open requests. */
export function estimateAnswerTimes(
  seen: readonly SeenAnswer[],
  openAgesMs: readonly number[] = [],
  typicalMs = TYPICAL_MS,
) {
  const known = [...prior(typicalMs), ...partsOf(seen.slice(0, ANSWERS_USED))];
  const parts = withOpenRequests(known, openAgesMs.slice(0, OPEN_USED));
  const weights = total(known.map(({ weight }) => weight));
  return {
    /** Mean time of seen answers and prior, without open requests, so that an outage does not raise it. */
    meanMs: known.reduce((sum, { weight, centre }) => sum + weight * Math.exp(centre), 0) / weights,
    /** For an age above 0 ms: the share of requests whose answer takes longer, and the share answered per ms then. */
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
  // The width follows the neighbours, so that dense answers give a precise peak which is not smoothed into the next.
  const reach = Math.ceil(0.6 * Math.sqrt(answers.length));
  return answers.map(({ centre, halfWidth, weight }, index) => {
    const from = Math.max(0, index - reach);
    const to = Math.min(answers.length - 1, index + reach);
    const perNeighbour = ((answers[to]?.centre ?? centre) - (answers[from]?.centre ?? centre)) / Math.max(1, to - from);
    const alone = answers.length <= 2 * reach ? ALONE : 0;
    return { centre, width: Math.max(NARROWEST, (perNeighbour * reach) / 2, halfWidth / 2, alone), weight };
  });
}

/** Reweights the parts to a sum of 1. An open request counts more, the fewer answers take as long. */
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
