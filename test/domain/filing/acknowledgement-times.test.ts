import fc from 'fast-check';
import { ANSWERS_USED, estimateAnswerTimes, type SeenAnswer } from '../../../src/domain/filing/poll-cadence';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const found = (byMs: number): SeenAnswer => ({ afterMs: byMs - 2 * MINUTE, byMs });
const anyAnswer = fc
  .tuple(fc.integer({ min: 0, max: 48 * HOUR }), fc.integer({ min: 0, max: 48 * HOUR }))
  .map(([a, b]) => ({ afterMs: Math.min(a, b), byMs: Math.max(a, b) }));
const median = (seen: SeenAnswer[], open: number[] = []) => {
  const times = estimateAnswerTimes(seen, open);
  let age = MINUTE;
  while (times.at(age).survival > 0.5) age *= 1.02;
  return age;
};

describe('the estimate of the answer times', () => {
  it('is about two hours until something was seen', () => {
    expect(median([]) / HOUR).toBeCloseTo(2, 1);
  });

  it('follows the answers that were seen', () => {
    const half = Array.from({ length: 50 }, (_, nth) => found((25 + (nth % 10)) * MINUTE));
    expect(median(half) / MINUTE).toBeGreaterThan(25);
    expect(median(half) / MINUTE).toBeLessThan(35);
  });

  it('keeps two kinds of answers apart', () => {
    const mixed = Array.from({ length: 100 }, (_, nth) =>
      found((nth % 2 ? 60 : 180) * (0.9 + (nth % 10) / 50) * MINUTE),
    );
    const { at } = estimateAnswerTimes(mixed);
    expect(at(HOUR).density).toBeGreaterThan(5 * at(110 * MINUTE).density);
    expect(at(3 * HOUR).density).toBeGreaterThan(2 * at(110 * MINUTE).density);
  });

  it('learns a change within some tens of answers: the newest count most', () => {
    const before = Array.from({ length: 100 }, () => found(2 * HOUR));
    const after = Array.from({ length: 80 }, () => found(30 * MINUTE));
    expect(median([...after, ...before]) / MINUTE).toBeLessThan(45);
    expect(median([...before, ...after]) / MINUTE).toBeGreaterThan(90);
  });

  it('claims no more about an answer than polling saw', () => {
    const early = (afterMs: number) => estimateAnswerTimes([{ afterMs, byMs: 3 * HOUR }]).at(100 * MINUTE).survival;
    expect(early(0)).toBeLessThan(early(175 * MINUTE));
  });

  it('counts the requests that are still open: theirs takes longer than their age', () => {
    const seen = Array.from({ length: 50 }, () => found(2 * HOUR));
    const outage = Array.from({ length: 60 }, () => 6 * HOUR);
    const beyond = (open: number[]) => estimateAnswerTimes(seen, open).at(6 * HOUR).survival;
    expect(beyond(outage)).toBeGreaterThan(0.3);
    expect(beyond([])).toBeLessThan(0.02);
    // Young ones say nothing yet.
    expect(beyond(Array.from({ length: 60 }, () => MINUTE))).toBeCloseTo(beyond([]), 2);
  });

  it('is a distribution whatever was seen: survival falls from 1 towards 0, and never reaches it', () => {
    fc.assert(
      fc.property(
        fc.array(anyAnswer, { maxLength: 30 }),
        fc.array(fc.integer({ min: 0, max: 90 * 24 * HOUR })),
        (seen, open) => {
          const { at, meanMs } = estimateAnswerTimes(seen, open);
          expect(meanMs).toBeGreaterThan(0);
          let before = 1;
          for (let age = 1_000; age < 90 * 24 * HOUR; age *= 4) {
            const { survival, density } = at(age);
            expect(density).toBeGreaterThanOrEqual(0);
            expect(survival).toBeGreaterThan(0);
            expect(survival).toBeLessThanOrEqual(before + 1e-9);
            before = survival;
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('looks at a bounded number of answers', () => {
    const many = Array.from({ length: 3 * ANSWERS_USED }, (_, nth) => found(nth < ANSWERS_USED ? HOUR : 9 * HOUR));
    expect(median(many)).toBe(median(many.slice(0, ANSWERS_USED)));
  });
});
