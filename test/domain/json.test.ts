import { parseBoundedJson } from '../../src/domain/json';

describe('numbers', () => {
  test.each([
    '0',
    '-1',
    '1234.56',
    '1e3',
    '0.30000000000000004',
    '100.4999999999999857891',
    '99999999999999',
    '1E-400',
  ])('%s is read', (literal) => {
    expect(parseBoundedJson(`{"a":[${literal}]}`)).toEqual({ a: [Number(literal)] });
  });

  test.each(['99999999999999.99', '1e400', '12345678901234567', '-1234567890123.456'])(
    '%s, which would become another number, is named as it is written, with its place',
    (literal) => {
      const text = `{"count":1,"items":[{"amount":5},{"number":"9,9","amount": ${literal}}]}`;
      expect(() => parseBoundedJson(text)).toThrow(`items[1].amount ${literal} has more digits`);
    },
  );
});

test('names that are there twice in one object, and in two', () => {
  expect(() => parseBoundedJson('{"a":1,"\\u0061":2}')).toThrow('is there twice');
  expect(parseBoundedJson('[{"a":"b"},{"a":["b","b"]}]')).toEqual([{ a: 'b' }, { a: ['b', 'b'] }]);
});
