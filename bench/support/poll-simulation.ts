/** Requests whose answers come at simulated times, polled by the worker's own cadence. All times in minutes. */
import type { SeenAnswer } from '../../src/domain/filing/poll-cadence';
import { nextPollDelayMs, type Cadence } from '../../src/domain/filing/poll-cadence';

const MINUTE_MS = 60_000;

/** Numbers from 0 to 1, the same in each run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

export const logNormal = (next: () => number, median: number, sigma: number): number =>
  median * Math.exp(sigma * Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()));

export interface SimulatedRequest {
  submittedAt: number;
  /** Age at which the authority has its answer. */
  answerAge: number;
}

/** Polls, and the time from an answer to the poll that finds it, summed over the requests. */
export interface Outcome {
  polls: number;
  delay: number;
}

/** Requests that come one by one, so that about `open` of them are open at once. */
export function requests(
  count: number,
  open: number,
  next: () => number,
  answerAge: (submittedAt: number) => number,
): SimulatedRequest[] {
  const meanAge = 125;
  let submittedAt = 0;
  return Array.from({ length: count }, () => {
    submittedAt -= (meanAge / open) * Math.log(next());
    return { submittedAt, answerAge: answerAge(submittedAt) };
  });
}

/** Polls at ages 5, 10, 15 … minutes. */
export function pollFixed(list: readonly SimulatedRequest[], every = 5): Outcome {
  return list.reduce(
    (sum, { answerAge }) => {
      const polls = Math.ceil(answerAge / every);
      return { polls: sum.polls + polls, delay: sum.delay + polls * every - answerAge };
    },
    { polls: 0, delay: 0 },
  );
}

/** Polls as the worker does, without any times at first, learning from each answer that it finds. */
export function pollByCadence(list: readonly SimulatedRequest[], bounds: Cadence['poll'], next: () => number): Outcome {
  const seen: SeenAnswer[] = [];
  const open = new Set<SimulatedRequest>();
  const outcome = { polls: 0, delay: 0 };
  // The first entry of a request, at its submission, is no poll.
  const due = list.map((request) => ({ request, at: request.submittedAt, polledAt: 0, spread: next() }));
  while (due.length > 0) {
    const nearest = due.reduce((best, each, index) => (each.at < (due[best]?.at ?? Infinity) ? index : best), 0);
    const entry = due[nearest]!;
    const { request, at, spread } = entry;
    const age = at - request.submittedAt;
    open.add(request);
    if (age > 0) {
      outcome.polls += 1;
      if (age >= request.answerAge) {
        outcome.delay += age - request.answerAge;
        seen.unshift({ afterMs: entry.polledAt * MINUTE_MS, byMs: age * MINUTE_MS });
        open.delete(request);
        due[nearest] = due[due.length - 1]!;
        due.pop();
        continue;
      }
      entry.polledAt = age;
    }
    const openAgesMs = [...open].map(({ submittedAt }) => (at - submittedAt) * MINUTE_MS).sort((a, b) => a - b);
    const ageMs = age * MINUTE_MS;
    const situation = { ageMs, seen, openAgesMs, openRequests: open.size, rateWindowMs: MINUTE_MS, spread };
    entry.at = at + nextPollDelayMs(situation, bounds) / MINUTE_MS;
  }
  return outcome;
}

/**
 * The least product of mean polls and mean delay that any sequence of poll ages can have for a known distribution:
 * dynamic programming over a grid of ages, for each price of a minute of delay.
 *
 * @param draws ages at which answers come
 */
export function leastProduct(draws: readonly number[], cell = 1): number {
  const cells = Math.ceil(Math.max(...draws) / cell) + 1;
  // Share answered by the end of each cell, and what it sums up to.
  const answered = new Array<number>(cells + 1).fill(0);
  for (const draw of draws) answered[Math.ceil(draw / cell)]! += 1 / draws.length;
  for (let i = 1; i <= cells; i += 1) answered[i]! += answered[i - 1]!;
  const summed = [0];
  for (let i = 1; i <= cells; i += 1) summed.push(summed[i - 1]! + ((answered[i]! + answered[i - 1]!) / 2) * cell);
  let least = Infinity;
  for (let price = 1 / 64; price <= 16; price *= 1.3) {
    const cost = new Array<{ polls: number; delay: number }>(cells + 1);
    cost[cells] = { polls: 0, delay: 0 };
    for (let from = cells - 1; from >= 0; from -= 1) {
      const left = 1 - answered[from]!;
      let best = { polls: Infinity, delay: Infinity };
      for (let to = from + 1; to <= cells; to += 1) {
        const waited = summed[to]! - summed[from]! - answered[from]! * (to - from) * cell;
        const after = cost[to]!;
        const all = { polls: left + after.polls, delay: waited + after.delay };
        if (all.polls + price * all.delay < best.polls + price * best.delay) best = all;
        if (price * waited > best.polls + price * best.delay) break;
      }
      cost[from] = best;
    }
    least = Math.min(least, cost[0]!.polls * cost[0]!.delay);
  }
  return least;
}
