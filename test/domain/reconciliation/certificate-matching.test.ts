import fc from 'fast-check';
import {
  matchCertificates,
  type CertificateEntry,
  type MatchRules,
  type OpenRow,
} from '../../../src/domain/reconciliation/certificate-matching';

const rules: MatchRules = { excluded: new Set(), issuedFrom: '10022026' };

const row = (position: number, more: Partial<OpenRow> = {}): OpenRow => ({
  filingId: 'F1',
  position,
  mine: true,
  sbCumInvoiceNumber: '1234567',
  sbCumInvoiceDate: '03012026',
  mappedIRMAmountFCC: '1000',
  currency: 'USD',
  billNo: 'EXP/1',
  ...more,
});

const certificate = (eBRCNumber: string, more: Partial<CertificateEntry> = {}): CertificateEntry => ({
  eBRCNumber,
  eBRCDate: '10022026',
  sbCumInvoiceNumber: '1234567',
  sbCumInvoiceDate: '03012026',
  realisedValueFCC: 1000,
  currencyCode: 'USD',
  billNo: 'EXP/1',
  ...more,
});

describe('one certificate for one row', () => {
  it('is adopted when document, its date, amount and currency agree', () => {
    expect(matchCertificates([row(4)], [certificate('A')], rules)).toEqual({
      matches: [{ position: 4, eBRCNumber: 'A', eBRCDate: '10022026' }],
      ambiguous: [],
      unmatched: [],
    });
  });

  it.each<[string, Partial<CertificateEntry>]>([
    ['the date in ISO form', { sbCumInvoiceDate: '2026-01-03', eBRCDate: '2026-02-10' }],
    ['leading zeros of the document', { sbCumInvoiceNumber: '01234567' }],
    ['blanks and case', { sbCumInvoiceNumber: ' 1234567 ', currencyCode: 'usd' }],
    ['the amount as text with decimals', { realisedValueFCC: '1000.00' }],
    ['a later day of issue', { eBRCDate: '11022026' }],
  ])('is adopted in spite of %s', (_, more) => {
    expect(matchCertificates([row(0)], [certificate('A', more)], rules).matches).toHaveLength(1);
  });

  it.each<[string, Partial<CertificateEntry>]>([
    ['another document', { sbCumInvoiceNumber: '7654321' }],
    ['another date of the document', { sbCumInvoiceDate: '04012026' }],
    ['another amount', { realisedValueFCC: 1000.01 }],
    ['another currency', { currencyCode: 'EUR' }],
    ['issued before the send', { eBRCDate: '09022026' }],
    ['without a day of issue', { eBRCDate: null }],
    ['without a document', { sbCumInvoiceNumber: null }],
    ['without an amount', { realisedValueFCC: null }],
    ['with an amount that is none', { realisedValueFCC: '1,000' }],
    ['without a currency', { currencyCode: null }],
    ['with a date that is none', { sbCumInvoiceDate: '31022026' }],
  ])('is not adopted %s', (_, more) => {
    expect(matchCertificates([row(0)], [certificate('A', more)], rules)).toEqual({
      matches: [],
      ambiguous: [],
      unmatched: [0],
    });
  });

  it('is not adopted when it was seen before the send, or belongs to a row', () => {
    const excluded = new Set(['A']);
    expect(matchCertificates([row(0)], [certificate('A')], { ...rules, excluded }).unmatched).toEqual([0]);
    expect(matchCertificates([row(0)], [certificate('A'), certificate('B')], { ...rules, excluded }).matches).toEqual([
      { position: 0, eBRCNumber: 'B', eBRCDate: '10022026' },
    ]);
  });

  it('counts once when two readings name it', () => {
    expect(matchCertificates([row(0)], [certificate('A'), certificate('A')], rules).matches).toHaveLength(1);
  });
});

describe('ambiguity', () => {
  it('gives n equal rows n equal new certificates in the order of the rows', () => {
    const rows = [row(0, { irmKey: 'IRM1 AD' }), row(1, { irmKey: 'IRM1 AD' })];
    expect(matchCertificates(rows, [certificate('B'), certificate('A')], rules)).toMatchObject({
      matches: [
        { position: 0, eBRCNumber: 'A' },
        { position: 1, eBRCNumber: 'B' },
      ],
      ambiguous: [],
    });
  });

  it('leaves one invoice settled by two remittances of the same amount to a person', () => {
    const rows = [row(0, { irmKey: 'IRM1 AD' }), row(1, { irmKey: 'IRM2 AD' })];
    expect(matchCertificates(rows, [certificate('A'), certificate('B')], rules)).toEqual({
      matches: [],
      ambiguous: [{ positions: [0, 1], candidates: ['A', 'B'], competingFilings: [] }],
      unmatched: [],
    });
  });

  it('distinguishes them by their amounts', () => {
    const rows = [row(0), row(1, { mappedIRMAmountFCC: 400 })];
    const entries = [certificate('B', { realisedValueFCC: 400 }), certificate('A')];
    expect(matchCertificates(rows, entries, rules).matches.map((match) => match.eBRCNumber)).toEqual(['A', 'B']);
  });

  it('distinguishes them by the bill numbers, if all of them have one', () => {
    const rows = [row(0, { billNo: 'EXP/1' }), row(1, { billNo: 'EXP/2' })];
    const entries = [certificate('B', { billNo: ' exp/2 ' }), certificate('A')];
    expect(matchCertificates(rows, entries, rules).matches).toMatchObject([
      { position: 0, eBRCNumber: 'A' },
      { position: 1, eBRCNumber: 'B' },
    ]);
  });

  it('gives the one certificate there is to the row with its bill number, another filing or not', () => {
    const other = row(7, { filingId: 'F2', mine: false, billNo: 'EXP/2' });
    expect(matchCertificates([row(0), other], [certificate('A')], rules).matches).toHaveLength(1);
    expect(matchCertificates([row(0), other], [certificate('A', { billNo: 'EXP/2' })], rules).unmatched).toEqual([0]);
  });

  it('prefers the certificate with the bill number of the row', () => {
    const entries = [certificate('A', { billNo: 'EXP/9' }), certificate('B')];
    expect(matchCertificates([row(0)], entries, rules).matches).toMatchObject([{ eBRCNumber: 'B' }]);
  });

  it.each<[string, string | null]>([
    ['names no bill', null],
    ['writes bills in another way', '0001-EXP'],
  ])('leaves them to a person where the service %s', (_, billNo) => {
    const rows = [row(0, { billNo: 'EXP/1' }), row(1, { billNo: 'EXP/2' })];
    const entries = [certificate('A', { billNo }), certificate('B', { billNo })];
    expect(matchCertificates(rows, entries, rules).ambiguous).toMatchObject([{ positions: [0, 1] }]);
  });

  it('asks about the only certificate of the only row when it names another bill; without a bill it is adopted', () => {
    const { matches, ambiguous } = matchCertificates([row(0)], [certificate('A', { billNo: '0001-EXP' })], rules);
    expect([matches, ambiguous]).toEqual([[], [{ positions: [0], candidates: ['A'], competingFilings: [] }]]);
    expect(matchCertificates([row(0)], [certificate('A', { billNo: null })], rules).matches).toHaveLength(1);
  });

  it('leaves a row open that two certificates fit', () => {
    expect(matchCertificates([row(0)], [certificate('A'), certificate('B')], rules).ambiguous).toEqual([
      { positions: [0], candidates: ['A', 'B'], competingFilings: [] },
    ]);
  });

  it('leaves two rows open that one certificate fits', () => {
    expect(matchCertificates([row(0), row(1)], [certificate('A')], rules).ambiguous).toMatchObject([
      { positions: [0, 1], candidates: ['A'] },
    ]);
  });

  it('leaves a certificate that a row of another filing may own, and names that filing', () => {
    const other = row(7, { filingId: 'F2', mine: false });
    expect(matchCertificates([row(0), other], [certificate('A')], rules)).toEqual({
      matches: [],
      ambiguous: [{ positions: [0], candidates: ['A'], competingFilings: ['F2'] }],
      unmatched: [],
    });
  });

  it('reports nothing about the rows of other filings', () => {
    const other = row(7, { filingId: 'F2', mine: false });
    expect(matchCertificates([other], [certificate('A')], rules)).toEqual({
      matches: [],
      ambiguous: [],
      unmatched: [],
    });
  });
});

it('never gives a certificate twice, and never one that may not be adopted', () => {
  const rows = fc.array(
    fc.record({
      mine: fc.boolean(),
      sbCumInvoiceNumber: fc.constantFrom('1', '01', '2'),
      mappedIRMAmountFCC: fc.constantFrom(1, '1.00', 2),
      billNo: fc.constantFrom('EXP/1', 'EXP/2'),
    }),
    { maxLength: 5 },
  );
  const entries = fc.array(
    fc.record({
      number: fc.constantFrom('A', 'B', 'C', 'D'),
      sbCumInvoiceNumber: fc.constantFrom('1', '2', null),
      realisedValueFCC: fc.constantFrom(1, 2, null),
      billNo: fc.constantFrom('EXP/1', 'EXP/2', null),
      eBRCDate: fc.constantFrom('09022026', '10022026', '2026-02-11', null),
    }),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(rows, entries, fc.subarray(['A', 'B', 'C', 'D']), (given, found, barred) => {
      const mine = given.map((more, position) => row(position, more));
      const { matches, ambiguous, unmatched } = matchCertificates(
        mine,
        found.map(({ number, ...more }) => certificate(number, more)),
        { ...rules, excluded: new Set(barred) },
      );
      const numbers = matches.map((match) => match.eBRCNumber);
      expect(new Set(numbers).size).toBe(numbers.length);
      expect(numbers.filter((number) => barred.includes(number))).toEqual([]);
      // Every row of mine is accounted for exactly once.
      const told = [
        ...matches.map((match) => match.position),
        ...ambiguous.flatMap((each) => each.positions),
        ...unmatched,
      ];
      expect(told.sort()).toEqual(mine.filter((each) => each.mine).map((each) => each.position));
    }),
  );
});
