import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { documentName, isDocumentName } from '../../src/documents/stored-document';

describe('document names', () => {
  test('are the eBRC number itself where that is safe', () => {
    expect(documentName('EBRC2026001', 'pdf')).toBe('EBRC2026001.pdf');
  });

  test('of two different numbers never collide, on any file system, and never leave the folder', () => {
    const number = fc.oneof(
      fc.string({ maxLength: 120 }),
      fc.stringMatching(/^[A-Za-z0-9/._~-]{1,20}$/u),
      fc.constantFrom(
        '..',
        '.',
        '',
        '/',
        'CON',
        'nul',
        'a/../b',
        'A~b',
        'ebrc2026001',
        'EBRC2026001',
        'EBRC2026001.pdf',
      ),
    );
    fc.assert(
      fc.property(number, number, (one, other) => {
        const [first, second] = [documentName(one, 'pdf'), documentName(other, 'pdf')];
        expect(first.toLowerCase() === second.toLowerCase()).toBe(one === other);
        expect(basename(join('/store', first))).toBe(first);
        expect(dirname(join('/store', first))).toBe('/store');
        expect(isDocumentName(first)).toBe(true);
        expect(first.length).toBeLessThan(200);
      }),
    );
  });

  test('do not depend on anything but the number', () => {
    const number = randomBytes(8).toString('base64');
    expect(documentName(number, 'pdf')).toBe(documentName(number, 'pdf'));
  });
});
