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

type Outcome = Partial<ReturnType<typeof matchCertificates>>;
/** What rows of a filing and certificates come to; what is left out is empty. */
function expectMatch(rows: OpenRow[], certificates: CertificateEntry[], expected: Outcome, more = rules) {
  const nothing = { matches: [], ambiguous: [], unmatched: [] };
  expect(matchCertificates(rows, certificates, more)).toMatchObject({ ...nothing, ...expected });
}
const matched = (...numbers: string[]): Outcome => ({
  matches: numbers.map((eBRCNumber, position) => ({ position, eBRCNumber, eBRCDate: '10022026' })),
});
const asked = (positions: number[], candidates: string[], ...competingFilings: string[]): Outcome => ({
  ambiguous: [{ positions, candidates, competingFilings }],
});
const none: Outcome = { unmatched: [0] };
/** A row of another filing. */
const other = (more: Partial<OpenRow> = {}) => row(7, { filingId: 'F2', mine: false, ...more });

describe('one certificate for one row', () => {
  it.each<[string, Partial<CertificateEntry>]>([
    ['it says so', {}],
    ['it has the date in ISO form', { sbCumInvoiceDate: '2026-01-03' }],
    ['it has leading zeros of the document', { sbCumInvoiceNumber: '01234567' }],
    ['it differs in blanks and case', { sbCumInvoiceNumber: ' 1234567 ', currencyCode: 'usd' }],
    ['it has the amount as text with decimals', { realisedValueFCC: '1000.00' }],
    ['it names no bill', { billNo: null }],
  ])('is adopted when document, its date, amount and currency agree: %s', (_, more) =>
    expectMatch([row(0)], [certificate('A', more)], matched('A')),
  );

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
  ])('is not adopted %s', (_, more) => expectMatch([row(0)], [certificate('A', more)], none));

  it('is not adopted when it was seen before the send, or belongs to a row', () => {
    const excluded = { ...rules, excluded: new Set(['A']) };
    expectMatch([row(0)], [certificate('A')], none, excluded);
    expectMatch([row(0)], [certificate('A'), certificate('B')], matched('B'), excluded);
  });
  it('counts once when two readings name it', () =>
    expectMatch([row(0)], [certificate('A'), certificate('A')], matched('A')));
});

describe('ambiguity', () => {
  const bills = [row(0, { billNo: 'EXP/1' }), row(1, { billNo: 'EXP/2' })];

  it('gives n equal rows n equal new certificates in the order of the rows', () => {
    const rows = [row(0, { irmKey: 'IRM1 AD' }), row(1, { irmKey: 'IRM1 AD' })];
    expectMatch(rows, [certificate('B'), certificate('A')], matched('A', 'B'));
  });
  it('leaves one invoice settled by two remittances of the same amount to a person', () => {
    const rows = [row(0, { irmKey: 'IRM1 AD' }), row(1, { irmKey: 'IRM2 AD' })];
    expectMatch(rows, [certificate('A'), certificate('B')], asked([0, 1], ['A', 'B']));
  });
  it('distinguishes them by their amounts', () => {
    const entries = [certificate('B', { realisedValueFCC: 400 }), certificate('A')];
    expectMatch([row(0), row(1, { mappedIRMAmountFCC: 400 })], entries, matched('A', 'B'));
  });
  it('distinguishes them by the bill numbers, if all of them have one', () =>
    expectMatch(bills, [certificate('B', { billNo: ' exp/2 ' }), certificate('A')], matched('A', 'B')));
  it.each([null, '0001-EXP'])('leaves them to a person where the service writes the bill as %s', (billNo) =>
    expectMatch(bills, [certificate('A', { billNo }), certificate('B', { billNo })], asked([0, 1], ['A', 'B'])),
  );
  it('gives the one certificate there is to the row with its bill number, another filing or not', () => {
    const rows = [row(0), other({ billNo: 'EXP/2' })];
    expectMatch(rows, [certificate('A')], matched('A'));
    expectMatch(rows, [certificate('A', { billNo: 'EXP/2' })], none);
  });
  it('prefers the certificate with the bill number of the row', () =>
    expectMatch([row(0)], [certificate('A', { billNo: 'EXP/9' }), certificate('B')], matched('B')));
  it('asks about the only certificate of the only row when it names another bill', () =>
    expectMatch([row(0)], [certificate('A', { billNo: '0001-EXP' })], asked([0], ['A'])));
  it('leaves a row open that two certificates fit', () =>
    expectMatch([row(0)], [certificate('A'), certificate('B')], asked([0], ['A', 'B'])));
  it('leaves two rows open that one certificate fits', () =>
    expectMatch([row(0), row(1)], [certificate('A')], asked([0, 1], ['A'])));
  it('leaves a certificate that a row of another filing may own, and names that filing', () =>
    expectMatch([row(0), other()], [certificate('A')], asked([0], ['A'], 'F2')));
  it('reports nothing about the rows of other filings', () => expectMatch([other()], [certificate('A')], {}));
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
