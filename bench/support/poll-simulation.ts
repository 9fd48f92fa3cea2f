/** Requests whose answers come at simulated times, polled by the worker's own schedule. All times in minutes. */
import { pollDelayMs, type PollTimes } from '../../src/domain/filing/poll-times';

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

type Bounds = Pick<PollTimes, 'pollFirstMs' | 'pollMinMs' | 'pollMaxMs'>;

/** Polls as the worker does; with more requests open, each is polled more rarely. */
export function pollBySchedule(list: readonly SimulatedRequest[], openRequests: number, bounds: Bounds): Outcome {
  const outcome = { polls: 0, delay: 0 };
  for (const { answerAge } of list) {
    for (let age = 0; ;) {
      age += pollDelayMs({ ageMs: age * MINUTE_MS, openRequests, ...bounds }) / MINUTE_MS;
      outcome.polls += 1;
      if (age < answerAge) continue;
      outcome.delay += age - answerAge;
      break;
    }
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
