import fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/domain/dates';

it.each([
  ['250ms', 250],
  ['90s', 90_000],
  ['10m', 600_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  [' 5 m ', 300_000],
  ['0s', 0],
])('%s is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

it.each(['', '10', 'm', '-5s', '1e3s', '5 min', '5M', '1h30m', '1.s', '36501d'])('%j is no duration', (text) => {
  expect(parseDuration(text)).toBeNull();
});

it('reads back what it writes', () => {
  fc.assert(fc.property(fc.nat(), (ms) => expect(parseDuration(formatDuration(ms))).toBe(ms)));
});
