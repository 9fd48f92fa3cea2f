import fc from 'fast-check';
import {
  atMostTwoDecimals,
  canonicalAmount,
  compareAmounts,
  fitsCurrency,
  formatAmount,
  isAmount,
  subtractAmounts,
  sumAmounts,
} from '../../src/domain/money';

test('sums are exact: ten times 0.1 is 1, and 999 of the largest amounts are summed to the last paisa', () => {
  expect(sumAmounts(Array.from({ length: 10 }, () => 0.1))).toBe('1');
  expect(sumAmounts(Array.from({ length: 999 }, () => '99999999999999.99'))).toBe('99899999999999990.01');
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { maxLength: 50 }), (cents) => {
      const total = cents.reduce((sum, cent) => sum + cent, 0);
      expect(compareAmounts(sumAmounts(cents.map((cent) => cent / 100)), total / 100)).toBe(0);
    }),
  );
});
test('comparison and canonical text ignore spelling', () => {
  expect([compareAmounts('10.00', 10), compareAmounts(0.3, '0.30000000000000004')]).toEqual([0, -1]);
  expect(['010.50', 1e21].map(canonicalAmount)).toEqual(['10.5', '1000000000000000000000']);
  expect(subtractAmounts('0.3', 0.1)).toBe('0.2');
});
test('formatting adds decimals and never rounds any away', () =>
  expect([10, '1234.5', 0.125].map(formatAmount)).toEqual(['10.00', '1234.50', '0.125']));
test('two decimals are the scale of the annexure', () =>
  expect([1234.56, '1234.5600', 0.005].map(atMostTwoDecimals)).toEqual([true, true, false]));
test('amounts have no more decimals than their currency', () => {
  for (const [amount, currency] of [
    [100.1, 'USD'],
    ['100.10', 'usd '],
    [100, 'JPY'],
    ['100.00', 'JPY'],
    [100.123, 'KWD'],
    [0.1 + 0.2 - 0.3 === 0 ? 0 : 0.3, 'EUR'],
  ] as const)
    expect([amount, currency, fitsCurrency(amount, currency)]).toEqual([amount, currency, true]);
  for (const [amount, currency] of [
    [100.101, 'USD'],
    [100.0999, 'USD'],
    [100.5, 'JPY'],
    [100.1234, 'KWD'],
    [0.1 + 0.2, 'EUR'],
    [1e-7, 'XXX'],
  ] as const)
    expect([amount, currency, fitsCurrency(amount, currency)]).toEqual([amount, currency, false]);
});
test('amount text is digits with an optional point', () => {
  expect([0, 12.5, '12.5', '-3', '.5', '10.'].filter((good) => !isAmount(good))).toEqual([]);
  expect(['', '1,000', '1e3', ' 1', 'NaN', Number.NaN, Number.POSITIVE_INFINITY, null].filter(isAmount)).toEqual([]);
});
