import fc from 'fast-check';
import { pollDelayMs, type PollTimes } from '../../../src/domain/filing/poll-times';

const MINUTE = 60_000;
const LIVE = { openRequests: 1, pollFirstMs: 15 * MINUTE, pollMinMs: 2 * MINUTE, pollMaxMs: 15 * MINUTE };
const delay = (minutes: number, more: Partial<PollTimes> = {}) =>
  pollDelayMs({ ageMs: minutes * MINUTE, ...LIVE, ...more }) / MINUTE;

/** The ages (minutes) at which a request is polled that stays without an answer until then. */
function pollsUntil(minutes: number): number[] {
  const ages: number[] = [];
  for (let age = delay(0); age < minutes; age += delay(age)) ages.push(age);
  return ages;
}

it('is sparse until an answer can come, dense around two hours, and sparse after', () => {
  expect([0, 20, 100, 119, 120, 125, 150, 600].map((age) => delay(age))).toEqual([15, 15, 5, 2, 2, 2, 7.5, 15]);
});

it('asks a request that is answered after two hours about twenty times', () => {
  const polls = pollsUntil(130);
  expect(polls.length).toBeGreaterThan(10);
  expect(polls.length).toBeLessThan(26);
  expect(polls.filter((age) => age > 110 && age < 130).length).toBeGreaterThan(6);
});

it('asks a sandbox that is first asked after seconds early', () => {
  const sandbox = { pollFirstMs: 2_000, pollMinMs: 1_000, pollMaxMs: 60_000 };
  expect(pollDelayMs({ ageMs: 16_000, openRequests: 1, ...sandbox })).toBe(1_000);
});

it('leaves room in the budget where many requests are open', () => {
  expect(delay(120, { openRequests: 600 })).toBe(10);
  expect(delay(600, { openRequests: 1_200 })).toBe(20);
});

it('is never shorter than the shortest time, nor longer than the longest unless the budget asks for it', () => {
  const ms = fc.integer({ min: 0, max: 48 * 60 * MINUTE });
  const times = fc.record({
    ageMs: ms,
    openRequests: fc.integer({ min: 0, max: 5_000 }),
    pollFirstMs: ms,
    pollMinMs: fc.integer({ min: 100, max: 10 * MINUTE }),
    pollMaxMs: fc.integer({ min: 10 * MINUTE, max: 60 * MINUTE }),
  });
  fc.assert(
    fc.property(times, (given) => {
      const next = pollDelayMs(given);
      const shortest = Math.max(given.pollMinMs, given.openRequests * 1_000);
      expect(next).toBeGreaterThanOrEqual(shortest);
      expect(next).toBeLessThanOrEqual(Math.max(shortest, given.pollMaxMs, given.pollFirstMs - given.ageMs));
      if (given.ageMs < given.pollFirstMs) expect(given.ageMs + next).toBeGreaterThanOrEqual(given.pollFirstMs);
    }),
  );
});
