import { nearMatcher, type NearSide } from '../../../src/domain/reconciliation/near-match';

const row = (more: Partial<NearSide> = {}): NearSide => ({
  id: 'F-1 row 2',
  document: '1234567',
  date: '05042026',
  amount: '1000',
  currency: 'USD',
  ...more,
});

const near = (ours: NearSide[], theirs: NearSide) => nearMatcher(ours)(theirs);

describe('near matches', () => {
  it('name a document that is written otherwise', () => {
    expect(near([row({ document: 'INV-7/26' })], row({ id: 'C', document: 'inv 7 26' }))).toEqual([
      { id: 'F-1 row 2', reasons: ['document written INV-7/26'] },
    ]);
  });

  it('name an amount that is off by bank charges, and a date that is off by a day', () => {
    expect(near([row()], row({ id: 'C', amount: '985', date: '06042026' }))).toEqual([
      { id: 'F-1 row 2', reasons: ['amount off by 15.00', 'date off by a day'] },
    ]);
  });

  it('find another document of the same amount, currency and date', () => {
    expect(near([row({ document: '7654321' })], row({ id: 'C' }))).toEqual([
      { id: 'F-1 row 2', reasons: ['document 7654321'] },
    ]);
  });

  it.each([
    ['more than the tolerance', row({ amount: '900' })],
    ['three differences', row({ currency: 'EUR', date: '01012026', amount: '1001' })],
    ['another document, amount and date', row({ document: '7', amount: '5', date: '01012026' })],
    ['nothing at all: that is no near match but an exact one', row()],
  ])('leave out %s', (_name, ours) => {
    expect(near([ours], row({ id: 'C' }))).toEqual([]);
  });

  it('put what differs least first and name three at most', () => {
    const ours = ['a', 'b', 'c', 'd'].map((id) => row({ id, amount: '1001', date: '09042026' }));
    const found = near([...ours, row({ id: 'best', amount: '1001' })], row({ id: 'C' }));
    expect(found.map(({ id }) => id)).toEqual(['best', 'a', 'b']);
  });
});
