import fc from 'fast-check';
import { filingWorkflowId } from '../../src/domain/names';

it('is file/<mode>/<reference>, with the correction behind it', () => {
  expect(filingWorkflowId('test', 'JULY-2026')).toBe('file/test/JULY-2026');
  expect(filingWorkflowId('live', 'R', 2)).toBe('file/live/R/2');
});

it('is no other filing’s: R/1 is not the first correction of R', () => {
  expect(filingWorkflowId('test', 'R/1')).toBe('file/test/R%2F1');
  const reference = fc.string({ unit: fc.constantFrom('R', '/', '%', '1', '2', 'F', '5'), minLength: 1, maxLength: 6 });
  const filing = fc.tuple(reference, fc.nat(3));
  fc.assert(
    fc.property(filing, filing, (a, b) => {
      fc.pre(a[0] !== b[0] || a[1] !== b[1]);
      expect(filingWorkflowId('test', ...a)).not.toBe(filingWorkflowId('test', ...b));
    }),
  );
});
