import fc from 'fast-check';
import {
  agreedIec,
  canonicalContent,
  companyOf,
  comparableText,
  fingerprintOf,
  irmIdentity,
  irmKey,
  isPlainNumber,
  readIec,
  sameId,
  irmCursor,
  readIrmCursor,
} from '../../src/domain/identity';
import type { Mapping } from '../../src/domain/filing/mapping';
import { mapping } from '../../dev/sample-mapping';

const of = (changes: Partial<Mapping> = {}, company = 'AAGCM4521K') => {
  const { irmNumber, sbCumInvoiceNumber: documentNumber } = mapping(changes);
  return fingerprintOf({ mode: 'test', company, irmNumber, documentNumber });
};

describe('a comparable text', () => {
  it.each([
    [' inv-1 ', 'INV-1'],
    ['in v - 1', 'INV-1'],
    ['ＩＮＶ－１', 'INV-1'],
    ['INV\u200b-\u00ad1\ufeff', 'INV-1'],
    ['INV\u0000-1\u2060\u3164', 'INV-1'],
    ['INV\u00a0-\u30001', 'INV-1'],
    ['ﬁrm', 'FIRM'],
    ['007', '7'],
    ['００７', '7'],
    ['0 07', '7'],
    ['00', '0'],
    ['INV\u2010\u2013\u2014\u2212\ufe63\uff0d1', 'INV------1'],
    ['INV\u2044\u2215\uff0f\\1', 'INV////1'],
    ['', ''],
  ])('of %j is %j', (text, expected) => expect(comparableText(text)).toBe(expected));

  it('keeps the zeros of a text that is not digits throughout', () => {
    expect(comparableText('INV-001')).not.toBe(comparableText('INV-1'));
    expect(comparableText('A007')).toBe('A007');
    expect(comparableText('0510001')).toBe(comparableText('510001'));
  });

  it('is its own comparable text, whatever was given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const once = comparableText(text);
        expect(comparableText(once)).toBe(once);
        expect(comparableText(` ${text}\u200b`)).toBe(once);
        expect(once).not.toMatch(/[\s\p{Cc}\p{Cf}\p{Cs}]/u);
      }),
    );
  });
});

describe('an IRM', () => {
  it('is its number and AD code', () => {
    expect(irmIdentity(mapping())).toBe('IRM2026000001 510001');
    expect(irmIdentity(mapping({ irmAdCode: '0510002' }))).not.toBe(irmIdentity(mapping()));
    expect(irmIdentity(mapping({ irmIfscCode: 'HDFC0000009', irmDt: '06012026' }))).toBe(irmIdentity(mapping()));
  });

  it('is no other one whose texts run together', () => {
    expect(irmIdentity({ irmNumber: 'A 1', irmAdCode: '2' })).not.toBe(
      irmIdentity({ irmNumber: 'A', irmAdCode: '1 2' }),
    );
  });
});

describe('the fingerprint of a mapping', () => {
  it.each<[string, string]>([
    ['the IRM', of({ irmNumber: 'IRM2026000002' })],
    ['the document', of({ sbCumInvoiceNumber: '1234568' })],
    ['the company', of({}, 'AAGCM4522K')],
    [
      'the mode',
      fingerprintOf({ mode: 'live', company: 'AAGCM4521K', irmNumber: 'IRM2026000001', documentNumber: '1234567' }),
    ],
  ])('differs with %s', (_, other) => expect(other).not.toBe(of()));

  it.each<[string, Partial<Mapping>]>([
    ['the AD code and the IFSC, which a bank merger changes', { irmAdCode: '0510002', irmIfscCode: 'HDFC0000002' }],
    ['the dates', { irmDt: '06012026', sbCumInvoiceDate: '04012026' }],
    ['the mapped amount', { mappedIRMAmountFCC: 7999.99 }],
    ['the bill number', { billNo: 'OTHER' }],
    ['blanks, case and width of the IRM', { irmNumber: ' ｉrm2026 000001 ' }],
    ['leading zeros of the document', { sbCumInvoiceNumber: '01234567' }],
    ['zero-width characters in the document', { sbCumInvoiceNumber: '123\u200b4567' }],
  ])('is the same whatever %s', (_, changes) => expect(of(changes)).toBe(of()));

  it('names the exporter until its IEC is known', () => {
    expect(companyOf({ iec: null, exporterId: ' E-1' })).toBe('exporter:e-1');
    expect(companyOf({ iec: 'AAGCM4521K', exporterId: 'e-1' })).toBe('AAGCM4521K');
  });

  it('cannot be made equal by moving text from one field to the next', () => {
    const text = fc.string({ maxLength: 4 });
    fc.assert(
      fc.property(text, text, text, (a, b, c) => {
        fc.pre(irmKey(`${a}${b}`) !== irmKey(a));
        expect(of({ irmNumber: `${a}${b}`, sbCumInvoiceNumber: c })).not.toBe(
          of({ irmNumber: a, sbCumInvoiceNumber: `${b}${c}` }),
        );
      }),
    );
  });
});

describe('a document number', () => {
  it.each(['INV-1', 'inv\u20131', 'ＩＮＶ／１', ' 1234567 ', 'SB\u00a01'])('may be %j', (number) =>
    expect(isPlainNumber(number)).toBe(true),
  );
  it.each(['', '\u200b', 'INV-А1', 'ΙNV-1', 'INV-1é', 'INV٣', 'INV\u30fc1'])('may not be %j', (number) =>
    expect(isPlainNumber(number)).toBe(false),
  );
});

it('takes exporter ids for one in either case', () => {
  const id = '5f0c1d0e-2b1a-4c3d-8e9f-001122334455';
  expect(sameId(id, ` ${id.toUpperCase()}`)).toBe(true);
  expect(sameId(id, id.replace('5f', '6f'))).toBe(false);
});

it('takes an IEC from records that agree on it', () => {
  expect(agreedIec(['AAGCM4521K', null, ' aagcm4521k', 'NA'])).toBe('AAGCM4521K');
  expect(agreedIec(['AAGCM4521K', 'AAGCM4522K'])).toBeNull();
  expect(agreedIec([])).toBeNull();
});

it('reads an IEC, and nothing else for one', () => {
  expect(readIec(' aagcm4521k ')).toBe('AAGCM4521K');
  for (const other of [null, undefined, '', 'NA', '-', 'AAGCM4521', 'AAGCM4521KX', 'AAGCM 4521']) {
    expect(readIec(other)).toBeNull();
  }
});

it('finds the IRM behind which a page ends, whatever its texts', () => {
  const text = fc.string({ unit: fc.constantFrom('A', '1', '/', '%', ' ', 'é'), maxLength: 5 });
  fc.assert(
    fc.property(fc.tuple(text, text, text, text), ([number, adCode, ifscCode, issueDate]) => {
      const irmNumber = `I${number}`;
      const cursor = irmCursor({ irmNumber, irmAdCode: adCode, irmIfscCode: ifscCode, irmIssueDate: issueDate });
      expect(readIrmCursor(cursor)).toEqual({ irmNumber, adCode, ifscCode, issueDate });
    }),
  );
  for (const other of ['', 'I1', '/1/2/3', 'I1/1/2', 'I1/1/2/3/4', 'I%/1/2/3']) expect(readIrmCursor(other)).toBeNull();
});

describe('the content of a filing', () => {
  type Content = Parameters<typeof canonicalContent>[0];
  const content = (rows: Content['rows'], more: Partial<Content> = {}) =>
    canonicalContent({ exporterId: 'e-1', uploadType: 103, declaration: 'Y', rows, ...more });
  const row = { mapping: mapping() };
  const reversed = (value: Mapping) => Object.fromEntries(Object.entries(value).reverse()) as unknown as Mapping;

  it('is the same however rows, properties and optional columns are ordered', () => {
    const serials = [1, 2, 3, 4, 5];
    const extra = { vostroType: 'SVRA', sacCode1: '9983' };
    fc.assert(
      fc.property(fc.shuffledSubarray(serials, { minLength: 5 }), (order) => {
        const rows = serials.map((serialNo) => ({ mapping: mapping({ serialNo }), extra }));
        const reordered = Object.fromEntries(Object.entries(extra).reverse());
        const shuffled = order.map((serialNo) => ({ mapping: reversed(mapping({ serialNo })), extra: reordered }));
        expect(content(shuffled)).toBe(content(rows));
      }),
    );
  });
  it.each<[string, string]>([
    ['the exporter', content([row], { exporterId: 'e-2' })],
    ['the upload type', content([row], { uploadType: 101 })],
    ['the declaration', content([row], { declaration: 'N' })],
    ['an amount', content([{ mapping: mapping({ mappedIRMAmountFCC: 400.51 }) }])],
    ['a document', content([{ mapping: mapping({ sbCumInvoiceNumber: 'INV-2' }) }])],
    ['an optional column', content([{ ...row, extra: { sacCode1: '9983' } }])],
    ['one row more', content([row, row])],
  ])('differs with %s', (_what, other) => expect(other).not.toBe(content([row])));
});
