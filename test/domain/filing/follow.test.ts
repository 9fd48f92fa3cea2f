import fc from 'fast-check';
import { judgeRecord, type RecordContext } from '../../../src/domain/filing/follow';
import { type FollowedRequest, outcomesOf, type RowWithOutcome } from '../../../src/domain/filing/outcomes';
import type { StatusEntry, StatusRecord } from '../../../src/domain/service/request-status';
import { byNumber, certificateOf, entryOf, erroredEntry, recordOf, sentRow } from './row-facts';

const [ONE, TWO] = [sentRow(0), sentRow(1)];
const IEC = 'AAGCM4521K';

/** What each row gets: a certificate's number, `errored` or `open`. */
function told(
  rows: RowWithOutcome[],
  list: StatusEntry[],
  more: Partial<StatusRecord> = {},
  context: Partial<RecordContext> = {},
) {
  const judged = judgeRecord(rows, recordOf(list, more), { iec: IEC, certificates: new Map(), ...context });
  const outcomes = rows.map(({ position }) => {
    const report = judged.reports.get(position);
    return report === undefined ? 'open' : report.outcome === 'errored' ? 'errored' : report.number;
  });
  return { ...judged, outcomes };
}

describe('an entry is a row’s', () => {
  it('by its content, however the list is ordered', () =>
    expect(told([ONE, TWO], [entryOf(TWO), entryOf(ONE)])).toMatchObject({
      ...{ outcomes: ['C0', 'C1'], complete: true, clean: true },
    }));

  it('whatever its serial number is', () => {
    const list = [entryOf(ONE, { serialNo: '2' }), entryOf(TWO, { serialNo: '1' })];
    expect(told([ONE, TWO], list).outcomes).toEqual(['C0', 'C1']);
  });

  it.each<[string, Partial<StatusEntry>]>([
    ['IRM', { irmNumber: 'IRM9' }],
    ['document', { sbCumInvoiceNumber: '9' }],
    ['date of the document', { sbCumInvoiceDate: '04012026' }],
    ['bill number', { billNo: 'B9' }],
    ['amount', { fobFCC: 99 }],
    ['currency', { fcc: 'EUR' }],
    ['IEC', { iecNumber: 'AAGCM4522K' }],
  ])('not if its %s contradicts', (_, more) => {
    const judged = told([ONE], [entryOf(ONE, more)]);
    expect(judged).toMatchObject({ outcomes: ['open'], complete: false, clean: false });
    expect(judged.problems).toHaveLength(1);
  });

  it.each<[string, Partial<StatusEntry>]>([
    ['the document’s value', { fobFCC: 800 }],
    ['no amount', { fobFCC: 0 }],
    ['no bill number', { billNo: null }],
    ['no date', { irmDt: null, sbCumInvoiceDate: null }],
    ['another spelling', { irmNumber: ' irm1', sbCumInvoiceNumber: '01000' }],
  ])('if it tells %s', (_, more) => expect(told([ONE], [entryOf(ONE, more)]).outcomes).toEqual(['C0']));

  it('where its IRM’s date is either of the two that are known', () => {
    const row = sentRow(0, { irmDates: ['2026-01-05', '2026-01-02'] });
    expect(told([row], [entryOf(row, { irmDt: '02012026' })]).outcomes).toEqual(['C0']);
    expect(told([row], [entryOf(row, { irmDt: '09012026' })]).outcomes).toEqual(['open']);
    expect(told([ONE], [entryOf(ONE, { irmDt: '09012026' })]).outcomes).toEqual(['C0']);
  });
});

describe('where content does not tell', () => {
  const [first, second] = [sentRow(0), sentRow(1, { documentKey: '1000', billKey: 'B1', amount: '40' })];
  const alike = [first, second];
  const bare = (row: RowWithOutcome, more: Partial<StatusEntry> = {}) =>
    entryOf(row, { billNo: null, fobFCC: 0, ...more });

  it('serial numbers count if the whole list’s are ours without a contradiction', () => {
    const list = alike.map((row) => bare(row));
    expect(told(alike, list).outcomes).toEqual(['C0', 'C1']);
    const other = (more: Partial<StatusEntry>) => told(alike, [bare(first), bare(second, more)]).outcomes;
    expect(other({ serialNo: '7' })).toEqual(['open', 'open']);
    expect(other({ serialNo: '1' })).toEqual(['open', 'open']);
    expect(other({ serialNo: null })).toEqual(['open', 'open']);
    expect(told(alike, list, { unreadEntries: 1 }).outcomes).toEqual(['open', 'open']);
    // A bill number that is the other row's makes every serial number doubtful, and tells the row itself.
    const swapped = [bare(first, { billNo: 'B1' }), bare(second, { billNo: 'B0' })];
    expect(told(alike, swapped).outcomes).toEqual(['C1', 'C0']);
  });

  it('the details of the certificates do', () => {
    const list = [bare(first, { serialNo: null, eBRCNumber: 'X' }), bare(second, { serialNo: null, eBRCNumber: 'Y' })];
    const certificates = byNumber(certificateOf(second, { number: 'X' }), certificateOf(first, { number: 'Y' }));
    expect(told(alike, list, {}, { certificates }).outcomes).toEqual(['Y', 'X']);
    expect(told(alike, list).outcomes).toEqual(['open', 'open']);
  });

  it('equal rows take their entries in any order once each has one, and keep the numbers that they have', () => {
    const equal = [sentRow(0, { number: 'Y' }), sentRow(1, { documentKey: '1000', billKey: 'B0' })];
    const list = ['X', 'Y'].map((eBRCNumber) => entryOf(ONE, { serialNo: null, eBRCNumber }));
    expect(told(equal, list).outcomes).toEqual(['Y', 'X']);
    expect(told(equal, list.slice(1)).outcomes).toEqual(['open', 'open']);
  });
});

describe('a record is not clean', () => {
  it.each<[string, StatusEntry[], Partial<StatusRecord>]>([
    ['with an entry that fits no row', [erroredEntry(ONE), entryOf(TWO)], {}],
    ['with an unreadable entry', [erroredEntry(ONE)], { unreadEntries: 1 }],
    ['whose counts say more successes', [erroredEntry(ONE)], { recordProCount: 1 }],
    ['with two entries for one row', [erroredEntry(ONE), entryOf(ONE, { serialNo: null })], {}],
    ['with an Errored entry that has a certificate', [entryOf(ONE, { processingStatus: 'Errored' })], {}],
    ['with an entry of another word', [entryOf(ONE, { processingStatus: 'Held' })], {}],
  ])('%s', (_, list, more) => expect(told([ONE], list, more).clean).toBe(false));

  it('and not complete before the authority is done, or while a row has no outcome', () => {
    expect(told([ONE], [entryOf(ONE)], { processingStatus: null }).complete).toBe(false);
    expect(told([ONE, TWO], [entryOf(ONE)]).complete).toBe(false);
    expect(told([ONE], [entryOf(ONE, { eBRCNumber: null })]).complete).toBe(false);
  });

  it('and proves nothing where it is Errored without a list', () => {
    const empty = told([ONE], [], { processingStatus: 'Errored' });
    expect(empty).toMatchObject({ erroredEmpty: true, complete: false, outcomes: ['open'] });
    expect(told([ONE], []).erroredEmpty).toBe(false);
  });
});

it('gives no row a number that is reported for two', () => {
  const list = [entryOf(ONE), entryOf(TWO, { eBRCNumber: ' c0' })];
  expect(told([ONE, TWO], list)).toMatchObject({ outcomes: ['open', 'open'], clean: false });
});

it('reads a list that has every entry twice', () => {
  const list = [entryOf(ONE), erroredEntry(TWO), entryOf(ONE), erroredEntry(TWO)];
  expect(told([ONE, TWO], list, { recordProCount: 1 })).toMatchObject({ outcomes: ['C0', 'errored'], clean: true });
});

it('judges 999 rows without serial numbers in no time', () => {
  const rows = Array.from({ length: 999 }, (_, position) => sentRow(position));
  const list = rows.map((row) => entryOf(row, { serialNo: null }));
  const began = performance.now();
  expect(told(rows, list).complete).toBe(true);
  expect(performance.now() - began).toBeLessThan(5_000);
});

it('never gives a row an entry of another document or IRM, nor two rows one number, whatever the list is', () => {
  const entry = fc.record({
    serialNo: fc.constantFrom(null, '1', '2', '3', 'x'),
    irmNumber: fc.constantFrom(null, 'IRM1', 'IRM2'),
    sbCumInvoiceNumber: fc.constantFrom(null, '1000', '1001', '9'),
    billNo: fc.constantFrom(null, 'B0', 'B1'),
    fobFCC: fc.constantFrom(0, 100, 40),
    eBRCNumber: fc.constantFrom(null, 'C0', 'C1', 'C2'),
    processingStatus: fc.constantFrom('Processed', 'Errored', null),
  });
  const rows = [
    ONE,
    sentRow(1, { irmKey: 'IRM2', irmNumber: 'IRM2' }),
    sentRow(2, { documentKey: '1000', amount: '40' }),
  ];
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      const list = entries.map((each) => entryOf(ONE, each));
      const { reports, outcomes } = told(rows, list, { processingStatus: 'Processed' });
      const numbers = outcomes.filter((number) => number.startsWith('C'));
      expect(new Set(numbers).size).toBe(numbers.length);
      for (const [position, report] of reports) {
        const row = rows[position];
        const own = list.filter(({ eBRCNumber }) => report.outcome === 'errored' || eBRCNumber === report.number);
        const isRows = ({ irmNumber, sbCumInvoiceNumber }: StatusEntry) =>
          [null, row?.irmNumber].includes(irmNumber) && [null, row?.documentKey].includes(sbCumInvoiceNumber);
        expect(own.some(isRows)).toBe(true);
      }
    }),
  );
});

describe('what records come to', () => {
  const request = (list: StatusEntry[], more: Partial<FollowedRequest> = {}): FollowedRequest => ({
    ...{ number: 1, verdict: 'accepted', requestId: 'R1', named: false, markedAt: 1_000, beside: false },
    record: recordOf(list),
    ...more,
  });
  const outcomes = (
    list: StatusEntry[],
    more: Partial<FollowedRequest> = {},
    rows: RowWithOutcome[] = [ONE],
    certificates = byNumber(certificateOf(ONE)),
  ) => outcomesOf(IEC, [request(list, more)], rows, certificates);
  const rejects = (...given: Parameters<typeof outcomes>) =>
    [...outcomes(...given).changes.values()].filter(({ reject }) => reject).map(({ position }) => position);

  it('certifies a row whose certificate’s details do not contradict', () => {
    expect(outcomes([entryOf(ONE)])).toMatchObject({ byRecord: [{ position: 0, number: 'C0' }], ended: [1] });
    expect(outcomes([entryOf(ONE)], {}, [ONE], byNumber()).byRecord).toEqual([]);
  });

  it.each<[string, Partial<RowWithOutcome>, number, string, string, number]>([
    ['rounds three decimals to two', { amount: '1234.567', currency: 'KWD' }, 1234.57, '1234.56', 'KWD', 1],
    ['has another amount of three decimals', { amount: '1234.567', currency: 'KWD' }, 1234.57, '1234.5', 'KWD', 0],
    ['is in the document’s currency', { documentCurrency: 'EUR' }, 100, '90', 'EUR', 1],
    ['is in neither currency', { documentCurrency: 'EUR' }, 100, '90', 'GBP', 0],
  ])('a row whose certificate %s', (_, more, fobFCC, amount, currency, certified) => {
    const row = sentRow(0, more);
    const certificates = byNumber(certificateOf(row, { amount, currency }));
    expect(outcomes([entryOf(row, { fobFCC })], {}, [row], certificates).byRecord).toHaveLength(certified);
  });

  it.each([
    ['document', { documentKey: '9' }],
    ['date', { documentOn: '2026-01-04' }],
    ['bill number', { billKey: 'B9' }],
    ['amount', { amount: '99' }],
    ['currency', { currency: 'EUR' }],
    ['status', { status: 'Cancelled' }],
    ['age: it was there before the attempt', { firstSeenAt: 999 }],
  ])('does not certify a row whose certificate contradicts it by its %s', (_, more) => {
    const found = outcomes([entryOf(ONE)], {}, [ONE], byNumber(certificateOf(ONE, more)));
    expect(found.byRecord).toEqual([]);
    expect(found.changes.get(0)).toMatchObject({ status: 'processed', number: 'C0' });
    expect([...found.problems.keys()]).toEqual(['0']);
  });

  it('rejects what its own request reports as Errored', () => {
    expect(rejects([erroredEntry(ONE, 'ERR38: more than available')])).toEqual([0]);
    expect(rejects([entryOf(ONE), erroredEntry(TWO, 'ERR30')], {}, [ONE, TWO])).toEqual([1]);
  });

  it.each<[string, StatusEntry[], Partial<FollowedRequest>, RowWithOutcome[]]>([
    ['before every row has its outcome', [erroredEntry(ONE)], {}, [ONE, TWO]],
    ['where the words speak of a duplicate', [erroredEntry(ONE, 'eBRC already generated')], {}, [ONE]],
    ['where another attempt may have been filed too', [erroredEntry(ONE)], { beside: true }, [ONE]],
    ['of an attempt that is not accepted', [erroredEntry(ONE)], { verdict: 'unknown' }, [ONE]],
    ['by a request that a person named', [erroredEntry(ONE)], { named: true }, [ONE]],
    ['beside an entry that fits no row', [erroredEntry(ONE), entryOf(TWO)], {}, [ONE]],
  ])('rejects nothing %s', (_, list, more, rows) => expect(rejects(list, more, rows)).toEqual([]));

  it('takes certificates alone from a request that a person named, if its entries name IRM and document', () => {
    const named = { named: true, verdict: 'unknown' } as const;
    expect(outcomes([entryOf(ONE)], named)).toMatchObject({
      ...{ byRecord: [], byDetails: [{ position: 0, number: 'C0' }] },
    });
    expect(outcomes([entryOf(ONE, { irmNumber: null })], named).byDetails).toEqual([]);
    expect(outcomes([erroredEntry(ONE)], named).changes.size).toBe(0);
    expect(outcomes([entryOf(sentRow(7))], named).problems.size).toBe(0);
  });

  it('finds what contradicts an outcome that a row has', () => {
    const certified = (certifiedBy: RowWithOutcome['certifiedBy'], number: string) => [
      sentRow(0, { state: 'certified', certifiedBy, number }),
    ];
    const problems = (list: StatusEntry[], rows: RowWithOutcome[]) => outcomes(list, {}, rows).problems.size;
    expect(problems([entryOf(ONE)], certified('record', 'C0'))).toBe(0);
    expect(problems([entryOf(ONE)], certified('details', 'C5'))).toBe(1);
    expect(problems([erroredEntry(ONE)], certified('details', 'C5'))).toBe(1);
    expect(problems([entryOf(ONE)], certified('persons', 'C5'))).toBe(0);
    expect(problems([entryOf(ONE)], [sentRow(0, { state: 'released' })])).toBe(1);
    expect(problems([entryOf(ONE)], [sentRow(0, { state: 'planned' })])).toBe(1);
  });

  it('finds a filing that two requests certify', () => {
    const other = { number: 2, requestId: 'R2', verdict: 'not_filed' } as const;
    const requests = [request([entryOf(ONE)]), request([entryOf(ONE, { eBRCNumber: 'C9' })], other)];
    const { byRecord, problems } = outcomesOf(IEC, requests, [ONE], byNumber(certificateOf(ONE)));
    expect(byRecord).toEqual([{ position: 0, number: 'C0' }]);
    expect([...problems.values()].map(({ text }) => text)).toEqual([
      'Request R2 reports certificate C9 for row 2: another request of it reports C0.',
    ]);
  });

  it('names another IEC that a record has', () =>
    expect([...outcomes([entryOf(ONE, { iecNumber: 'AAGCM4522K' })]).otherIecs]).toEqual(['AAGCM4522K']));
});
