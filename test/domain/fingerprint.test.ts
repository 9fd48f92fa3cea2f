import fc from 'fast-check';
import { comparableDocument, mappingFingerprint, mappingIrmKey } from '../../src/domain/fingerprint';
import type { Mapping } from '../../src/domain/mapping';
import { mapping } from './sample-mapping';

const of = (changes: Partial<Mapping> = {}, exporter = 'E1') => mappingFingerprint(exporter, mapping(changes));

describe('the fingerprint of a mapping', () => {
  it.each<[string, Partial<Mapping>]>([
    ['the IRM', { irmNumber: 'IRM2026000002' }],
    ['the AD code', { irmAdCode: '0510002' }],
    ['the IFSC', { irmIfscCode: 'HDFC0000002' }],
    ['the IRM date', { irmDt: '06012026' }],
    ['the document', { sbCumInvoiceNumber: '1234568' }],
    ['the document date', { sbCumInvoiceDate: '04012026' }],
    ['the mapped amount', { mappedIRMAmountFCC: 7999.99 }],
  ])('differs with %s', (_, changes) => {
    expect(of(changes)).not.toBe(of());
  });

  it('differs between exporters', () => {
    expect(of({}, 'E2')).not.toBe(of());
  });

  it.each<[string, Partial<Mapping>]>([
    ['the serial number', { serialNo: 9 }],
    ['the bill number', { billNo: 'OTHER' }],
    ['the port', { portCode: 'INMAA1' }],
    ['the purpose', { irmPurposeCode: 'P0103' }],
    ['the declared value of the document', { sbCumInvoiceValueinFCC: 9000 }],
    ['the remittance amount', { irmRemitAmtFCC: 9000 }],
    ['blanks and case of the IRM', { irmNumber: ' irm2026000001 ', irmIfscCode: 'hdfc0000001' }],
    ['leading zeros of the document', { sbCumInvoiceNumber: '01234567' }],
    ['blanks around the document', { sbCumInvoiceNumber: ' 1234567 ' }],
  ])('is the same whatever %s', (_, changes) => {
    expect(of(changes)).toBe(of());
  });

  it('cannot be made alike by moving text from one field to the next', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 4 }), fc.string({ maxLength: 4 }), fc.string({ maxLength: 4 }), (a, b, c) => {
        const document = (text: string) => comparableDocument(text);
        fc.pre(document(`${a}${b}`) !== document(a) || `${b}${c}` !== c);
        const left = of({ sbCumInvoiceNumber: `${a}${b}`, sbCumInvoiceDate: c });
        const right = of({ sbCumInvoiceNumber: a, sbCumInvoiceDate: `${b}${c}` });
        expect(left).not.toBe(right);
      }),
    );
  });

  it('names the IRM by number, AD code, IFSC and date', () => {
    expect(mappingIrmKey(mapping())).toBe('IRM2026000001|0510001|HDFC0000001|05012026');
  });
});

it('drops leading zeros of numbers alone', () => {
  expect(['007', '0', '00', 'A007', ' inv-1 '].map(comparableDocument)).toEqual(['7', '0', '0', 'A007', 'INV-1']);
});
