/**
 * Polls for each filing, and the delay from an answer to the poll that finds it, over simulated acknowledgement times:
 * the worker's fixed schedule with its default bounds, beside a poll every 5 minutes and the least that a schedule
 * could reach that knew the distribution from the start.
 */
import { report } from './support/report';
import {
  leastProduct,
  logNormal,
  pollBySchedule,
  pollFixed,
  random,
  requests,
  type Outcome,
} from './support/poll-simulation';

const MINUTE_MS = 60_000;
const BOUNDS = { pollFirstMs: 15 * MINUTE_MS, pollMinMs: 2 * MINUTE_MS, pollMaxMs: 15 * MINUTE_MS };
const REQUESTS = 800;
const SEEDS = [11, 57];
const OPEN = [10, 60];
const OUTAGE = { from: 12 * 60, minutes: 6 * 60 };
const MOST_FACTOR = 0.9;

interface Times {
  answerAge: (next: () => number, submittedAt: number) => number;
  goal?: number;
}

const TIMES: Record<string, Times> = {
  'log-normal, sigma 0.25': { answerAge: (next) => logNormal(next, 120, 0.25), goal: 0.5 },
  'bimodal, 1 h and 3 h': { answerAge: (next) => logNormal(next, next() < 0.5 ? 60 : 180, 0.2), goal: 0.65 },
  'log-normal, sigma 0.5': { answerAge: (next) => logNormal(next, 120, 0.5), goal: 0.8 },
  'outage of 6 h': { answerAge: throughOutage },
};

/** What would have been answered during the outage is answered after it, at some time of the next hour. */
function throughOutage(next: () => number, submittedAt: number): number {
  const answerAge = logNormal(next, 120, 0.25);
  const into = submittedAt + answerAge - OUTAGE.from;
  return into > 0 && into < OUTAGE.minutes ? answerAge + OUTAGE.minutes - into + 60 * next() : answerAge;
}

const figures: Record<string, Record<string, string | number>> = {};
const goals: { goal: string; met: boolean }[] = [];
const round = (value: number, digits = 2) => Number(value.toFixed(digits));
const share = (a: number, b: number) => round(a / b);

for (const [name, { answerAge, goal }] of Object.entries(TIMES)) {
  const draws = Array.from({ length: 20_000 }, drawing(answerAge));
  const plain = pollFixed(draws.map((age) => ({ submittedAt: 0, answerAge: age })));
  const optimum = (leastProduct(draws) * draws.length ** 2) / (plain.polls * plain.delay);
  for (const open of OPEN) {
    const ours: Outcome = { polls: 0, delay: 0 };
    const fixed: Outcome = { polls: 0, delay: 0 };
    for (const seed of SEEDS) {
      const next = random(seed * 7_919);
      const list = requests(REQUESTS, open, next, (submittedAt) => answerAge(next, submittedAt));
      add(ours, pollBySchedule(list, open, BOUNDS));
      add(fixed, pollFixed(list));
    }
    const product = (ours.polls * ours.delay) / (fixed.polls * fixed.delay);
    const count = REQUESTS * SEEDS.length;
    figures[`${name}; ${open} open`] = {
      polls: round(ours.polls / count, 1),
      'delay (min)': round(ours.delay / count),
      'fixed: polls': round(fixed.polls / count, 1),
      'fixed: delay (min)': round(fixed.delay / count),
      'polls ratio': share(ours.polls, fixed.polls),
      'delay ratio': share(ours.delay, fixed.delay),
      product: round(product),
      ...(goal !== undefined && { optimum: round(optimum), goal }),
    };
    if (goal === undefined) continue;
    const met = product <= goal && ours.polls <= MOST_FACTOR * fixed.polls && ours.delay <= MOST_FACTOR * fixed.delay;
    goals.push({ goal: `${name}, ${open} open: polls × delay ≤ ${goal} of fixed, neither over ${MOST_FACTOR}`, met });
  }
}
report('polling', figures, goals);

function drawing(answerAge: Times['answerAge']): () => number {
  const next = random(4_242);
  return () => answerAge(next, 0);
}

function add(sum: Outcome, { polls, delay }: Outcome): void {
  sum.polls += polls;
  sum.delay += delay;
}
