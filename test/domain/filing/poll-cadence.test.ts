import fc from 'fast-check';
import {
  ANSWERS_USED,
  estimateAnswerTimes,
  nextPollDelayMs,
  type Cadence,
  type SeenAnswer,
} from '../../../src/domain/filing/poll-cadence';

type PollSituation = Parameters<typeof nextPollDelayMs>[0];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const bounds: Cadence['poll'] = { firstMs: 15 * MINUTE, minMs: 2 * MINUTE, maxMs: 15 * MINUTE };
const situation = (more: Partial<PollSituation> = {}): PollSituation => ({
  ageMs: 0,
  seen: [],
  openAgesMs: [],
  openRequests: 1,
  rateWindowMs: MINUTE,
  spread: 0,
  ...more,
});

/** Answers between 90 and 150 minutes, as polls every 3 minutes find them. */
const AROUND_TWO_HOURS: SeenAnswer[] = Array.from({ length: 200 }, (_, nth) => {
  const byMs = (90 + ((nth * 7) % 60)) * MINUTE;
  return { afterMs: byMs - 3 * MINUTE, byMs };
});

const anySituation = fc.record({
  ageMs: fc.integer({ min: 0, max: 30 * 24 * HOUR }),
  seen: fc.array(
    fc.integer({ min: 0, max: 48 * HOUR }).map((byMs) => ({ afterMs: Math.max(0, byMs - 5 * MINUTE), byMs })),
    { maxLength: 20 },
  ),
  openAgesMs: fc.array(fc.integer({ min: 0, max: 48 * HOUR }), { maxLength: 20 }),
  openRequests: fc.integer({ min: 0, max: 5_000 }),
  rateWindowMs: fc.constantFrom(1_000, MINUTE),
  spread: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** Ages at which a request is polled that is never answered. */
function pollAges(given: PollSituation, until: number, within = bounds): number[] {
  const ages: number[] = [];
  for (let ageMs = 0; ageMs < until;) {
    ageMs += nextPollDelayMs({ ...given, ageMs }, within);
    ages.push(ageMs);
  }
  return ages;
}

describe('the next poll', () => {
  it('comes first when an answer can be expected, and never before the bound', () => {
    const [first = 0] = pollAges(situation({ seen: AROUND_TWO_HOURS }), HOUR);
    expect(first).toBeGreaterThan(3 * bounds.firstMs);
    expect(first).toBeLessThan(95 * MINUTE);
    const early = AROUND_TWO_HOURS.map(() => ({ afterMs: 0, byMs: MINUTE }));
    expect(pollAges(situation({ seen: early }), 1)[0]).toBeGreaterThanOrEqual(bounds.firstMs);
  });

  it.each([0, 1])('comes within seconds where the bounds are seconds, before any answer was seen', (spread) => {
    const seconds = { firstMs: 2_000, minMs: 1_000, maxMs: 10_000 };
    const ages = pollAges(situation({ spread }), 60_000, seconds);
    expect(ages[0]).toBeLessThanOrEqual(13_000);
    for (const answered of [3_000, 10_000, 20_000]) {
      const noticed = ages.find((age) => age >= answered) ?? Infinity;
      expect(noticed - answered).toBeLessThanOrEqual(seconds.maxMs);
    }
  });

  it('is dense where answers come and grows rare after, up to the longest interval', () => {
    const at = (ageMs: number) => nextPollDelayMs(situation({ ageMs, seen: AROUND_TWO_HOURS }), bounds);
    expect(at(120 * MINUTE)).toBeLessThan(4 * MINUTE);
    expect(at(20 * MINUTE)).toBe(bounds.maxMs);
    expect(at(5 * HOUR)).toBeGreaterThan(1.5 * at(120 * MINUTE));
    expect(at(48 * HOUR)).toBe(bounds.maxMs);
  });

  it('costs fewer polls than one every five minutes, and finds answers sooner', () => {
    const ages = pollAges(situation({ seen: AROUND_TWO_HOURS, spread: 0.5 }), 12 * HOUR);
    let polls = 0;
    let delay = 0;
    for (const { byMs } of AROUND_TWO_HOURS) {
      const nth = ages.findIndex((age) => age >= byMs);
      polls += nth + 1;
      delay += (ages[nth] ?? Infinity) - byMs;
    }
    const mean = AROUND_TWO_HOURS.reduce((sum, { byMs }) => sum + byMs, 0) / AROUND_TWO_HOURS.length;
    expect(polls / AROUND_TWO_HOURS.length).toBeLessThan((0.9 * mean) / (5 * MINUTE));
    expect(delay / AROUND_TWO_HOURS.length).toBeLessThan(0.9 * 2.5 * MINUTE);
  });

  it('grows rarer while many requests are overdue together', () => {
    const at = (openAgesMs: number[]) =>
      nextPollDelayMs(situation({ ageMs: 2 * HOUR, seen: AROUND_TWO_HOURS, openAgesMs }), bounds);
    expect(at(Array.from({ length: 80 }, () => 6 * HOUR))).toBeGreaterThan(1.2 * at([]));
  });

  it('never stops, however old a request is', () => {
    const ages = pollAges(situation({ seen: AROUND_TWO_HOURS }), 5 * 24 * HOUR);
    const gaps = ages.slice(1).map((age, nth) => age - (ages[nth] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(bounds.maxMs);
  });

  it('spreads requests that were filed together', () => {
    const delays = [0, 0.25, 0.5, 1].map((spread) => nextPollDelayMs(situation({ spread }), bounds));
    expect(new Set(delays).size).toBe(4);
  });

  it('is never sooner than the shortest interval, and never later than the longest unless the share of its rate class demands it', () => {
    fc.assert(
      fc.property(anySituation, (given) => {
        const delay = nextPollDelayMs(given, bounds);
        expect(delay).toBe(nextPollDelayMs(given, bounds));
        // Before the first poll only what is left of it counts.
        if (given.ageMs < bounds.firstMs) return expect(given.ageMs + delay).toBeGreaterThanOrEqual(bounds.firstMs);
        const share = (given.openRequests / 60) * given.rateWindowMs;
        expect(delay).toBeGreaterThanOrEqual(Math.max(bounds.minMs, share - 1e-6));
        return expect(delay).toBeLessThanOrEqual(Math.max(bounds.maxMs, share) + 1e-6);
      }),
    );
  });
});

const found = (byMs: number): SeenAnswer => ({ afterMs: byMs - 2 * MINUTE, byMs });
const many = (length: number, of: (nth: number) => number) => Array.from({ length }, (_, nth) => of(nth));
const answers = (length: number, of: (nth: number) => number) => many(length, of).map(found);

describe('the estimate of the answer times', () => {
  const median = (seen: SeenAnswer[]) => {
    const times = estimateAnswerTimes(seen);
    let age = MINUTE;
    while (times.at(age).survival > 0.5) age *= 1.02;
    return age;
  };

  it('is about two hours until something was seen', () => expect(median([]) / HOUR).toBeCloseTo(2, 1));

  it('follows the answers that were seen', () => {
    const half = median(answers(50, (nth) => (25 + (nth % 10)) * MINUTE)) / MINUTE;
    expect(half).toBeGreaterThan(25);
    expect(half).toBeLessThan(35);
  });

  it('keeps two kinds of answers apart', () => {
    const { at } = estimateAnswerTimes(answers(100, (nth) => (nth % 2 ? 60 : 180) * (0.9 + (nth % 10) / 50) * MINUTE));
    expect(at(HOUR).density).toBeGreaterThan(5 * at(110 * MINUTE).density);
    expect(at(3 * HOUR).density).toBeGreaterThan(2 * at(110 * MINUTE).density);
  });

  it('learns a change within some tens of answers: the newest count most, and older ones at last not at all', () => {
    const [before, after] = [answers(100, () => 2 * HOUR), answers(80, () => 30 * MINUTE)];
    expect(median([...after, ...before]) / MINUTE).toBeLessThan(45);
    expect(median([...before, ...after]) / MINUTE).toBeGreaterThan(90);
    const all = answers(3 * ANSWERS_USED, (nth) => (nth < ANSWERS_USED ? HOUR : 9 * HOUR));
    expect(median(all)).toBe(median(all.slice(0, ANSWERS_USED)));
  });

  it('claims no more about an answer than polling saw', () => {
    const early = (afterMs: number) => estimateAnswerTimes([{ afterMs, byMs: 3 * HOUR }]).at(100 * MINUTE).survival;
    expect(early(0)).toBeLessThan(early(175 * MINUTE));
  });

  it('counts the requests that are still open: theirs takes longer than their age', () => {
    const seen = answers(50, () => 2 * HOUR);
    const beyond = (open: number[]) => estimateAnswerTimes(seen, open).at(6 * HOUR).survival;
    expect(beyond(many(60, () => 6 * HOUR))).toBeGreaterThan(0.3);
    expect(beyond([])).toBeLessThan(0.02);
    // Young ones say nothing yet.
    expect(beyond(many(60, () => MINUTE))).toBeCloseTo(beyond([]), 2);
  });

  it('is a distribution whatever was seen: survival falls from 1 towards 0, and never reaches it', () => {
    const age = fc.integer({ min: 0, max: 48 * HOUR });
    const anyAnswer = fc.tuple(age, age).map(([a, b]) => ({ afterMs: Math.min(a, b), byMs: Math.max(a, b) }));
    const openAges = fc.array(fc.integer({ min: 0, max: 90 * 24 * HOUR }));
    fc.assert(
      fc.property(fc.array(anyAnswer, { maxLength: 30 }), openAges, (seen, open) => {
        const { at, meanMs } = estimateAnswerTimes(seen, open);
        expect(meanMs).toBeGreaterThan(0);
        let before = 1;
        for (let ms = 1_000; ms < 90 * 24 * HOUR; ms *= 4) {
          const { survival, density } = at(ms);
          expect(density).toBeGreaterThanOrEqual(0);
          expect(survival).toBeGreaterThan(0);
          expect(survival).toBeLessThanOrEqual(before + 1e-9);
          before = survival;
        }
      }),
      { numRuns: 50 },
    );
  });
});
