import fc from 'fast-check';
import {
  atMostTwoDecimals,
  canonicalAmount,
  compareAmounts,
  formatAmount,
  isAmount,
  subtractAmounts,
  sumAmounts,
} from '../../src/domain/money';

test('ten rows of 0.1 make exactly 1', () => {
  expect(sumAmounts(Array.from({ length: 10 }, () => 0.1))).toBe('1');
});

test('999 of the largest amounts are summed to the last paisa', () => {
  expect(sumAmounts(Array.from({ length: 999 }, () => '99999999999999.99'))).toBe('99899999999999990.01');
});

test('sums of cents equal the integer sum, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { maxLength: 50 }), (cents) => {
      const total = cents.reduce((sum, cent) => sum + cent, 0);
      expect(compareAmounts(sumAmounts(cents.map((cent) => cent / 100)), total / 100)).toBe(0);
    }),
  );
});

test('comparison and canonical text ignore spelling', () => {
  expect(compareAmounts('10.00', 10)).toBe(0);
  expect(compareAmounts(0.3, '0.30000000000000004')).toBe(-1);
  expect(canonicalAmount('010.50')).toBe('10.5');
  expect(canonicalAmount(1e21)).toBe('1000000000000000000000');
  expect(subtractAmounts('0.3', 0.1)).toBe('0.2');
});

test('formatting adds decimals and never rounds any away', () => {
  expect(formatAmount(10)).toBe('10.00');
  expect(formatAmount('1234.5')).toBe('1234.50');
  expect(formatAmount(0.125)).toBe('0.125');
});

test('two decimals are the scale of the annexure', () => {
  expect(atMostTwoDecimals(1234.56)).toBe(true);
  expect(atMostTwoDecimals('1234.5600')).toBe(true);
  expect(atMostTwoDecimals(0.005)).toBe(false);
});

test('amount text is digits with an optional point', () => {
  for (const good of [0, 12.5, '12.5', '-3', '.5', '10.']) expect(isAmount(good)).toBe(true);
  for (const bad of ['', '1,000', '1e3', ' 1', 'NaN', Number.NaN, Number.POSITIVE_INFINITY, null])
    expect(isAmount(bad)).toBe(false);
});
