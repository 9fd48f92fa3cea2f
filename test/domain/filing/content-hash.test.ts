import fc from 'fast-check';
import { canonicalContent } from '../../../src/domain/identity';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { mapping as sample } from '../../../dev/sample-mapping';

const mapping = sample({
  uploadType: 103,
  irmIfscCode: 'HDFC0000123',
  irmAdCode: '0510123',
  irmNumber: 'IRM1',
  irmDt: '01062026',
  irmPurposeCode: 'P0802',
  irmRemitAmtFCC: 1000,
  sbCumInvoiceNumber: 'INV-1',
  sbCumInvoiceDate: '15052026',
  billNo: 'B-1',
  sbCumInvoiceValueinFCC: 1000,
  mappedIRMAmountFCC: 400.5,
});

type Content = Parameters<typeof canonicalContent>[0];
const content = (rows: Content['rows'], more: Partial<Content> = {}) =>
  canonicalContent({ exporterId: 'e-1', uploadType: 103, declaration: 'Y', rows, ...more });

const reversed = (value: Mapping) => Object.fromEntries(Object.entries(value).reverse()) as unknown as Mapping;

describe('the content of a filing', () => {
  it('is the same however properties and rows are ordered', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([1, 2, 3, 4, 5], { minLength: 5 }), (order) => {
        const rows = [1, 2, 3, 4, 5].map((serialNo) => ({ mapping: { ...mapping, serialNo } }));
        const shuffled = order.map((serialNo) => ({ mapping: reversed({ ...mapping, serialNo }) }));
        expect(content(shuffled)).toBe(content(rows));
      }),
    );
  });

  it('does not depend on the order of a workbook’s optional columns', () => {
    expect(content([{ mapping, extra: { vostroType: 'SVRA', sacCode1: '9983' } }])).toBe(
      content([{ mapping, extra: { sacCode1: '9983', vostroType: 'SVRA' } }]),
    );
  });

  it.each<[string, string]>([
    ['the exporter', content([{ mapping }], { exporterId: 'e-2' })],
    ['the upload type', content([{ mapping }], { uploadType: 101 })],
    ['the declaration', content([{ mapping }], { declaration: 'N' })],
    ['an amount', content([{ mapping: { ...mapping, mappedIRMAmountFCC: 400.51 } }])],
    ['a document', content([{ mapping: { ...mapping, sbCumInvoiceNumber: 'INV-2' } }])],
    ['an optional column', content([{ mapping, extra: { sacCode1: '9983' } }])],
    ['one row more', content([{ mapping }, { mapping }])],
  ])('differs with %s', (_what, other) => {
    expect(other).not.toBe(content([{ mapping }]));
  });
});
