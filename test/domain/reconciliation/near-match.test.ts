import { nearMatcher, type NearSide } from '../../../src/domain/reconciliation/near-match';

const row = (more: Partial<NearSide> = {}): NearSide => ({
  id: 'F-1 row 2',
  document: '1234567',
  date: '05042026',
  amount: '1000',
  currency: 'USD',
  ...more,
});

/** The near matches of their side among ours. */
const near = (ours: NearSide[], theirs: Partial<NearSide> = {}) => nearMatcher(ours)(row({ id: 'C', ...theirs }));

describe('near matches', () => {
  it.each<[string, NearSide, Partial<NearSide>, string[]]>([
    [
      'a document that is written otherwise',
      row({ document: 'INV-7/26' }),
      { document: 'inv 7 26' },
      ['document written INV-7/26'],
    ],
    [
      'bank charges and a day',
      row(),
      { amount: '985', date: '06042026' },
      ['amount off by 15.00', 'date off by a day'],
    ],
    ['another document', row({ document: '7654321' }), {}, ['document 7654321']],
  ])('differ in %s', (_, ours, theirs, reasons) =>
    expect(near([ours], theirs)).toEqual([{ id: 'F-1 row 2', reasons }]),
  );

  it.each([
    ['more than the tolerance', row({ amount: '900' })],
    ['three differences', row({ currency: 'EUR', date: '01012026', amount: '1001' })],
    ['another document, amount and date', row({ document: '7', amount: '5', date: '01012026' })],
    ['nothing at all: that is no near match but an exact one', row()],
  ])('leave out %s', (_name, ours) => expect(near([ours])).toEqual([]));

  it('put what differs least first and name three at most', () => {
    const ours = ['a', 'b', 'c', 'd'].map((id) => row({ id, amount: '1001', date: '09042026' }));
    const found = near([...ours, row({ id: 'best', amount: '1001' })]);
    expect(found.map(({ id }) => id)).toEqual(['best', 'a', 'b']);
  });
});
