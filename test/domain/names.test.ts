import fc from 'fast-check';
import { filingWorkflowId } from '../../src/domain/names';
import { personKey } from '../../src/domain/principal';
import { forEachLimited } from '../../src/domain/values';

describe('a workflow id of a filing', () => {
  it('is file/<mode>/<reference>, with the correction behind it', () => {
    expect(filingWorkflowId('test', 'JULY-2026')).toBe('file/test/JULY-2026');
    expect(filingWorkflowId('live', 'R', 2)).toBe('file/live/R/2');
  });

  it('is no other filing’s: R/1 is not the first correction of R', () => {
    expect(filingWorkflowId('test', 'R/1')).toBe('file/test/R%2F1');
    const reference = fc.string({
      unit: fc.constantFrom('R', '/', '%', '1', '2', 'F', '5'),
      minLength: 1,
      maxLength: 6,
    });
    const filing = fc.tuple(reference, fc.nat(3));
    fc.assert(
      fc.property(filing, filing, (a, b) => {
        fc.pre(a[0] !== b[0] || a[1] !== b[1]);
        expect(filingWorkflowId('test', ...a)).not.toBe(filingWorkflowId('test', ...b));
      }),
    );
  });
});

it('begins nothing more of a list once an item has failed', async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    await Promise.resolve();
    if (item === 2) throw new Error('no room');
  };
  await expect(forEachLimited([1, 2, 3, 4, 5, 6, 7, 8], 2, work)).rejects.toThrow('no room');
  await new Promise(setImmediate);
  expect(begun.length).toBeLessThan(6);
});

it.each([
  'asha',
  'Asha',
  ' asha ',
  'as\u00adha',
  'asha\u200b',
  'asha.',
  '"asha"',
  'ＡＳＨＡ',
  '(asha)!',
  '\u2060asha\u3164',
  '…a s h a…',
  'as\u2800ha',
])('%j is the person asha', (name) => expect(personKey(name)).toBe(personKey('asha')));

it.each(['', '   ', '...', '\u200b', '-', null, 7])('%j is not a name', (name) => expect(personKey(name)).toBe(''));

it.each(['ashia', 'ashá', 'asha2', 'a.s.ha'])('%j is somebody else', (name) =>
  expect(personKey(name)).not.toBe(personKey('asha')),
);

it('reads a name of a million dots', () => {
  expect(personKey(`a${'.'.repeat(1_000_000)}b`)).toContain('B');
});
