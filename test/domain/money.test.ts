import fc from 'fast-check';
import {
  canonicalAmount,
  compareAmounts,
  fitsCurrency,
  formatAmount,
  isAmount,
  isFilable,
  isMore,
  isSameAmount,
  roundedDown,
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
  expect([1234.56, '1234.5600', 0.005].map((amount) => isFilable(amount))).toEqual([true, true, false]));
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

describe('currencies of other than two decimals', () => {
  test('what is filed has two at most, and none for the yen', () => {
    expect([
      isFilable(1234.567, 'KWD'),
      isFilable(1234.56, 'kwd'),
      isFilable(1234.5, 'JPY'),
      isFilable(1234, 'JPY'),
    ]).toEqual([false, true, false, true]);
    expect([roundedDown(1234.569, 'KWD'), roundedDown('99.9', 'JPY'), roundedDown(2.999, 'USD')]).toEqual([
      '1234.56',
      '99',
      '2.99',
    ]);
  });

  test.each<[string | number, string | number, string, boolean, boolean]>([
    // Half a unit of the second decimal, and the rounding that is advised.
    ['1234.567', 1234.57, 'KWD', true, false],
    ['1234.565', 1234.57, 'OMR', true, false],
    ['1234.569', 1234.56, 'BHD', true, true],
    ['1234.579', 1234.56, 'BHD', false, true],
    ['1234.561', 1234.57, 'KWD', false, false],
    [1234.57, '1234.564', 'KWD', false, true],
    ['1234.567', 1234.57, 'USD', false, false],
    [1234.57, '1234.567', 'USD', false, true],
  ])('%s and %s %s: the same %s, more %s', (a, b, currency, same, more) => {
    expect([isSameAmount(a, b, currency), isMore(a, b, currency)]).toEqual([same, more]);
  });
});
