import fc from 'fast-check';
import { type Doubt, judgeReading } from '../../../src/domain/filing/settle';
import { certificateOf, irmUse, sentRow } from './row-facts';

const ROW = sentRow();
const OWN = certificateOf(ROW);
/** A certificate of nobody's, of another document, in the row's currency and amount. */
const strange = (more: object = {}) => certificateOf(ROW, { number: 'X', documentKey: '9', billKey: 'B9', ...more });

const doubt = (more: Partial<Doubt> = {}): Doubt => ({
  firstMark: 1_000,
  firstDay: '2026-01-05',
  read: true,
  rows: [ROW],
  others: [],
  certificates: [OWN],
  irms: [irmUse(100)],
  requests: [],
  openRequests: [],
  refusal: null,
  ...more,
});
const adopted = (more: Partial<Doubt> = {}) =>
  judgeReading(doubt(more)).adoptions.map(({ position, number }) => `${position}=${number}`);
const names = (more: Partial<Doubt> = {}) => judgeReading(doubt(more)).evidence.map(({ name }) => name);

describe('a certificate is adopted', () => {
  it('where it is equal to its row, and its IRM fell by exactly its amount', () => expect(adopted()).toEqual(['0=C0']));

  it('beside what else is certified on the IRM since', () => {
    expect(adopted({ irms: [irmUse(350, { certified: '250' })] })).toEqual(['0=C0']);
    expect(adopted({ irms: [irmUse(350, { certified: '249.99' })] })).toEqual([]);
  });

  it.each<[string, Partial<Doubt>]>([
    ['before a whole reading after the settle time', { read: false }],
    ['with another document', { certificates: [certificateOf(ROW, { documentKey: '7' })] }],
    ['with another bill number', { certificates: [certificateOf(ROW, { billKey: 'B9' })] }],
    ['without a bill number', { certificates: [certificateOf(ROW, { billKey: '' })] }],
    ['with another date of the document', { certificates: [certificateOf(ROW, { documentOn: '2026-01-04' })] }],
    ['with another amount', { certificates: [certificateOf(ROW, { amount: '99' })] }],
    ['in another currency', { certificates: [certificateOf(ROW, { currency: 'EUR' })] }],
    ['that is cancelled', { certificates: [certificateOf(ROW, { status: 'Cancelled' })] }],
    ['without a status', { certificates: [certificateOf(ROW, { status: null })] }],
    ['of an earlier day', { certificates: [certificateOf(ROW, { issuedOn: '2026-01-04' })] }],
    ['without a day', { certificates: [certificateOf(ROW, { issuedOn: null })] }],
    ['that was there before the first mark', { certificates: [certificateOf(ROW, { firstSeenAt: 1_000 })] }],
    ['that is another row’s', { certificates: [certificateOf(ROW, { nobodys: false })] }],
    ['where the IRM did not fall', { irms: [irmUse(0)] }],
    ['where the IRM fell by more', { irms: [irmUse(100.01)] }],
    ['where the balance before is not known', { irms: [irmUse(100, { before: null })] }],
    ['where the balance was not read after the settle time', { irms: [irmUse(100, { readAfter: false })] }],
    ['where the IRM is no longer listed', { irms: [irmUse(100, { missing: true })] }],
    ['where the IRM was amended', { irms: [irmUse(100, { amended: true })] }],
    ['where the IRM was cancelled', { irms: [irmUse(100, { cancelled: true })] }],
    ['where something was given back', { irms: [irmUse(100, { rose: true })] }],
    ['while another filing is on its way on the IRM', { irms: [irmUse(100, { others: ['B'] })] }],
    ['where the IRM is not known', { irms: [] }],
    ['where an equal row of another filing waits for it', { others: [sentRow(0, { filing: 'B', irmKey: 'IRM2' })] }],
    ['where there are more of them than rows', { certificates: [OWN, certificateOf(ROW, { number: 'C9' })] }],
    ['where its row’s own record names another', { rows: [sentRow(0, { recorded: true })] }],
    ['where another new certificate could explain the fall', { certificates: [OWN, strange()] }],
    ['where another one of unknown amount could', { certificates: [OWN, strange({ amount: null, currency: null })] }],
  ])('not %s', (_, more) => expect(adopted(more)).toEqual([]));

  it('although another new one is larger than the fall, in another currency, or another sent row’s', () => {
    expect(adopted({ certificates: [OWN, strange({ amount: '100.01' })] })).toEqual(['0=C0']);
    expect(adopted({ certificates: [OWN, strange({ currency: 'EUR' })] })).toEqual(['0=C0']);
    const theirs = sentRow(1, { irmKey: 'IRM2', documentKey: '9' });
    expect(adopted({ certificates: [OWN, certificateOf(theirs, { number: 'C9' })], others: [theirs] })).toEqual([
      '0=C0',
    ]);
    // Of its document alone it may be this IRM's all the same.
    expect(adopted({ certificates: [OWN, strange()], others: [theirs] })).toEqual([]);
  });

  it('for all rows of an IRM or for none of them', () => {
    const [one, two] = [sentRow(0), sentRow(1)];
    const both = [certificateOf(one), certificateOf(two)];
    expect(adopted({ rows: [one, two], certificates: both, irms: [irmUse(200)] })).toEqual(['0=C0', '1=C1']);
    expect(adopted({ rows: [one, two], certificates: [certificateOf(one)], irms: [irmUse(100)] })).toEqual([]);
    const elsewhere = sentRow(1, { irmKey: 'IRM2' });
    expect(adopted({ rows: [one, elsewhere] })).toEqual(['0=C0']);
  });

  it('for equal rows of one IRM in any order, not for equal rows of two', () => {
    const equal = [sentRow(0), sentRow(1, { documentKey: '1000', billKey: 'B0' })] as const;
    const certificates = [certificateOf(ROW, { number: 'C8' }), certificateOf(ROW, { number: 'C7' })];
    expect(adopted({ rows: equal, certificates, irms: [irmUse(200)] })).toEqual(['0=C7', '1=C8']);
    const irms = [irmUse(100), irmUse(100, { irmKey: 'IRM2' })];
    expect(adopted({ rows: [equal[0], { ...equal[1], irmKey: 'IRM2' }], certificates, irms })).toEqual([]);
  });
});

describe('evidence', () => {
  const nothing = { certificates: [], irms: [irmUse(0)] };

  it('is none where nothing was found', () => expect(names(nothing)).toEqual([]));

  it.each<[string, Partial<Doubt>]>([
    ['reading:none', { read: false }],
    [
      'certificate:C0',
      { certificates: [certificateOf(ROW, { amount: '1', status: 'Cancelled', firstSeenAt: 1_000 })] },
    ],
    ['irm_fell:IRM1', { irms: [irmUse(0.01)] }],
    ['irm_unjudged:IRM1', { irms: [irmUse(5, { others: ['B'] })] }],
    ['irm_rose:IRM1', { irms: [irmUse(50, { certified: '100' })] }],
    ['irm_rose:IRM1', { irms: [irmUse(0, { rose: true })] }],
    ['irm_amended:IRM1', { irms: [irmUse(0, { amended: true })] }],
    ['irm_cancelled:IRM1', { irms: [irmUse(0, { cancelled: true })] }],
    ['irm_unread:IRM1', { irms: [irmUse(0, { before: null })] }],
    ['irm_unread:IRM1', { irms: [irmUse(0, { now: null })] }],
    ['irm_unread:IRM1', { irms: [irmUse(0, { readAfter: false })] }],
    ['irm_unread:IRM1', { irms: [irmUse(0, { missing: true })] }],
    ['request:R1', { requests: [{ id: 'R1', errored: false }] }],
    ['request_open:R9', { openRequests: [{ id: 'R9', filing: 'B' }] }],
  ])('is %s', (name, more) => expect(names({ ...nothing, ...more })).toEqual([name]));

  it('names a request and that it reports rows as Errored', () =>
    expect(names({ ...nothing, requests: [{ id: 'R1', errored: true }] })).toEqual([
      'request:R1',
      'request_errored:R1',
    ]));

  it.each<[string, Partial<Doubt>]>([
    ['was there before the first mark', { certificates: [certificateOf(ROW, { firstSeenAt: 999 })] }],
    ['is another row’s by its own record', { certificates: [certificateOf(ROW, { byRecord: true, nobodys: false })] }],
    ['is of other documents', { certificates: [certificateOf(ROW, { named: false })] }],
  ])('is no certificate that %s', (_, more) => expect(names({ ...nothing, ...more })).toEqual([]));

  it('is no fall that certificates explain, although another filing is still on its way', () =>
    expect(names({ ...nothing, irms: [irmUse(40, { certified: '40', others: ['B'] })] })).toEqual([]));

  it('has no amount and no time in its name', () => {
    const paise = fc.integer({ min: 1, max: 10_000 });
    fc.assert(
      fc.property(paise, paise, fc.integer({ min: 1_000, max: 9_000 }), (fell, amount, firstSeenAt) => {
        const certificates = [certificateOf(ROW, { amount: String(amount / 100), firstSeenAt, billKey: 'Z' })];
        expect(names({ irms: [irmUse(fell / 100)], certificates })).toEqual(['certificate:C0', 'irm_fell:IRM1']);
      }),
    );
  });
});

it('never adopts more than the balance fell, nor one certificate twice', () => {
  const row = fc.record({
    irm: fc.constantFrom('IRM1', 'IRM2'),
    document: fc.constantFrom('1', '2'),
    amount: fc.constantFrom('10', '20'),
  });
  const certificate = fc.record({
    document: fc.constantFrom('1', '2', '3'),
    amount: fc.constantFrom('10', '20'),
    nobodys: fc.boolean(),
  });
  const falls = fc.constantFrom(0, 10, 20, 30, 40);
  const rowOf = ({ irm, document, amount }: { irm: string; document: string; amount: string }, index: number) =>
    sentRow(index, { irmKey: irm, documentKey: document, billKey: 'B', amount });
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 4 }),
      fc.array(row, { maxLength: 2 }),
      fc.array(certificate, { maxLength: 6 }),
      fc.tuple(falls, falls),
      (mine, others, found, [one, two]) => {
        const rows = mine.map(rowOf);
        const certificates = found.map(({ document, amount, nobodys }, index) =>
          certificateOf(rowOf({ irm: '', document, amount }, index), { nobodys }),
        );
        const irms = [irmUse(one), irmUse(two, { irmKey: 'IRM2' })];
        const { adoptions } = judgeReading(doubt({ rows, others: others.map(rowOf), certificates, irms }));
        expect(new Set(adoptions.map(({ number }) => number)).size).toBe(adoptions.length);
        for (const { irmKey, now } of irms) {
          const taken = adoptions.filter(({ position }) => rows[position]?.irmKey === irmKey);
          const sum = taken.reduce((all, { position }) => all + Number(rows[position]?.amount), 0);
          expect([0, 1_000 - Number(now)]).toContain(sum);
        }
      },
    ),
  );
});
