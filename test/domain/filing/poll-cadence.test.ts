import fc from 'fast-check';
import {
  expectedAgeMs,
  nextPollDelayMs,
  type PollBounds,
  type PollSituation,
} from '../../../src/domain/filing/poll-cadence';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const bounds: PollBounds = { firstMs: 75 * MINUTE, minMs: 2 * MINUTE, maxMs: 15 * MINUTE };
const situation = (more: Partial<PollSituation> = {}): PollSituation => ({
  ageMs: 0,
  recentMs: [],
  openRequests: 1,
  rateWindowMs: MINUTE,
  spread: 0,
  ...more,
});

const anySituation = fc.record({
  ageMs: fc.integer({ min: 0, max: 30 * 24 * HOUR }),
  recentMs: fc.array(fc.integer({ min: 0, max: 48 * HOUR }), { maxLength: 20 }),
  openRequests: fc.integer({ min: 0, max: 5_000 }),
  rateWindowMs: fc.constantFrom(1_000, MINUTE),
  spread: fc.double({ min: 0, max: 1, noNaN: true }),
});

describe('the expected age', () => {
  it('is two hours until enough was seen, then the median of what was seen', () => {
    expect(expectedAgeMs([], bounds.firstMs)).toBe(2 * HOUR);
    expect(expectedAgeMs([HOUR, HOUR], bounds.firstMs)).toBe(2 * HOUR);
    expect(expectedAgeMs([9 * HOUR, 3 * HOUR, 4 * HOUR], bounds.firstMs)).toBe(4 * HOUR);
  });

  it('is never before the first look', () => {
    expect(expectedAgeMs([1, 1, 1], bounds.firstMs)).toBe(bounds.firstMs);
  });
});

describe('the next look', () => {
  it('comes first when an answer can be expected at the earliest', () => {
    expect(nextPollDelayMs(situation(), bounds)).toBe(bounds.firstMs);
    expect(nextPollDelayMs(situation({ ageMs: 70 * MINUTE }), bounds)).toBe(5 * MINUTE);
  });

  it('is sparse before the expected time, dense around it, and sparse again long after', () => {
    const at = (ageMs: number) => nextPollDelayMs(situation({ ageMs }), bounds);
    expect(at(76 * MINUTE)).toBe(bounds.maxMs);
    expect(at(2 * HOUR)).toBe(bounds.minMs);
    expect(at(3 * HOUR)).toBe(bounds.minMs);
    expect(at(24 * HOUR)).toBe(bounds.maxMs);
  });

  it('does not sleep past the start of the dense time', () => {
    // Dense from 96 minutes on: from 90 minutes there are six left.
    expect(nextPollDelayMs(situation({ ageMs: 90 * MINUTE }), bounds)).toBe(6 * MINUTE);
  });

  it('spreads requests that were filed together', () => {
    const delays = [0, 0.25, 0.5, 1].map((spread) => nextPollDelayMs(situation({ spread }), bounds));
    expect(new Set(delays).size).toBe(4);
  });

  it('is never negative, never sooner than the shortest interval, and the same for the same arguments', () => {
    fc.assert(
      fc.property(anySituation, (given) => {
        const delay = nextPollDelayMs(given, bounds);
        expect(Number.isFinite(delay)).toBe(true);
        expect(delay).toBe(nextPollDelayMs(given, bounds));
        // Before the first look only what is left of it counts.
        if (given.ageMs >= bounds.firstMs) expect(delay).toBeGreaterThanOrEqual(bounds.minMs);
        else expect(given.ageMs + delay).toBeGreaterThanOrEqual(bounds.firstMs);
      }),
    );
  });

  it('leaves the rate class its share however many requests are open', () => {
    fc.assert(
      fc.property(anySituation, (given) => {
        fc.pre(given.ageMs >= bounds.firstMs);
        const polls = (given.openRequests * given.rateWindowMs) / nextPollDelayMs(given, bounds);
        expect(polls).toBeLessThanOrEqual(60 + 1e-6);
      }),
    );
  });

  it('never waits much longer than the longest interval unless the share demands it', () => {
    fc.assert(
      fc.property(anySituation, (given) => {
        fc.pre(given.ageMs >= bounds.firstMs);
        const share = (given.openRequests / 60) * given.rateWindowMs;
        expect(nextPollDelayMs(given, bounds)).toBeLessThanOrEqual(Math.max(bounds.maxMs, share) * 1.25 + bounds.minMs);
      }),
    );
  });
});
