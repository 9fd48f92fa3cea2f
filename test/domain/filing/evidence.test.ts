import fc from 'fast-check';
import { addedTo, evidenceEntry, evidenceOf, speaksOfDuplicate } from '../../../src/domain/filing/evidence';

describe('words that may mean that the service has the mapping', () => {
  it.each([
    'Duplicate message ID',
    'ERR09: DUPLICATE',
    'a record already exists',
    'eBRC Already  Generated for this IRM',
    'ALREADY_EXISTS',
    'alreadyExists',
    'This bill was previously submitted',
    'An eBRC has been generated for this invoice',
    'ｄｕｐｌｉｃａｔｅ',
    JSON.stringify({ errors: [{ field: 'irmNumber', message: 'IRM already utilised' }] }),
  ])('%s', (text) => expect(speaksOfDuplicate(text)).toBe(true));

  it.each([
    'portCode INXXX1 is unknown',
    'ERR38: mapped amount is more than available',
    'IRM does not exist',
    'Required field irmNumber is missing',
    '',
  ])('not: %s', (text) => expect(speaksOfDuplicate(text)).toBe(false));

  it('are found in any case and anywhere', () => {
    const cased = fc
      .constantFrom('duplicate', 'already exists', 'already generated')
      .chain((word) =>
        fc
          .tuple(...[...word].map((letter) => fc.constantFrom(letter, letter.toUpperCase())))
          .map((all) => all.join('')),
      );
    fc.assert(
      fc.property(fc.string(), cased, fc.string(), (before, word, after) =>
        expect(speaksOfDuplicate(`${before} ${word} ${after}`)).toBe(true),
      ),
    );
  });
});

it('keeps each name once, in order, with its text', () => {
  const entries = [
    evidenceEntry('irm_fell', 'IRM1', 'b'),
    evidenceEntry('certificate', 'C1', 'a'),
    evidenceEntry('irm_fell', 'IRM1', 'c'),
  ];
  expect(evidenceOf(entries, null)).toEqual({
    readAt: null,
    names: ['certificate:C1', 'irm_fell:IRM1'],
    entries: [
      { name: 'certificate:C1', text: 'a' },
      { name: 'irm_fell:IRM1', text: 'c' },
    ],
  });
});

it('what has gone voids nothing, and what was added is named', () => {
  expect(addedTo(['a', 'b'], ['a'])).toEqual([]);
  expect(addedTo(['a'], ['a', 'c'])).toEqual(['c']);
});
