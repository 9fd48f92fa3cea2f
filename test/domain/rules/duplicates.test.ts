import fc from 'fast-check';
import { allowDuplicate, parseAllowDuplicate } from '../../../src/domain/rules/duplicates';

it('prints rows ready to copy, runs of them as such', () => {
  expect(allowDuplicate([203, 17])).toBe('17,203=REASON');
  expect(allowDuplicate([4, 2, 3, 9, 10, 2])).toBe('2-4,9,10=REASON');
});

it('reads what it prints', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(2_000), { minLength: 1, maxLength: 60 }), (rows) => {
      const read = parseAllowDuplicate(allowDuplicate(rows));
      expect(read).toEqual([...rows].sort((a, b) => a - b).map((row) => ({ row, reason: 'REASON' })));
    }),
  );
});

it('reads a reason with anything in it', () => {
  expect(parseAllowDuplicate(' 17 , 19 =  a=b, "c" ')).toEqual([
    { row: 17, reason: 'a=b, "c"' },
    { row: 19, reason: 'a=b, "c"' },
  ]);
});

it.each(['', 'because', '17', '17=', '17= ', '=because', '17-=x', '19-17=x', '1-9999999=x', '1,,2=x', '-1=x', '1.5=x'])(
  'does not read %j',
  (text) => {
    expect(parseAllowDuplicate(text)).toBeNull();
  },
);
