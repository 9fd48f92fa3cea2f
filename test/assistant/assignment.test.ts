import fc from 'fast-check';
import { propose, bestFlow } from '../../src/assistant/proposals/assignment';
import type { OpenDocument, OpenIrm } from '../../src/assistant/proposals/score';

const irm = (irmNumber: string, free: string, more: Partial<OpenIrm> = {}): OpenIrm => ({
  irmNumber,
  irmAdCode: '0510060',
  irmIfscCode: 'HDFC0000060',
  irmDt: '01062026',
  currency: 'USD',
  purpose: 'P0102',
  amount: free,
  free,
  remitter: 'Northwind Textiles Inc',
  remarks: '',
  ...more,
});

const document = (number: string, value: string, more: Partial<OpenDocument> = {}): OpenDocument => ({
  number,
  date: '15052026',
  currency: 'USD',
  value,
  open: value,
  uploadType: 101,
  buyer: 'NORTHWIND TEXTILES',
  billNo: null,
  ...more,
});

const pairs = (irms: OpenIrm[], documents: OpenDocument[]) =>
  propose(irms, documents).proposals.map((each) => [each.irm.irmNumber, each.document.number, each.amount]);

it('maps equal amounts of one buyer, with the reason', () => {
  const { proposals } = propose(
    [irm('A', '5000'), irm('B', '7000.5')],
    [document('1', '7000.50'), document('2', '5000')],
  );
  expect(proposals.map((each) => [each.irm.irmNumber, each.document.number, each.amount])).toEqual([
    ['B', '1', '7000.5'],
    ['A', '2', '5000'],
  ]);
  expect(proposals[0]?.confidence).toBeGreaterThan(0.9);
  expect(new Set(proposals[0]?.reasons)).toEqual(
    new Set([
      'the remitter is the buyer: Northwind Textiles Inc',
      'the amounts agree: USD 7000.50',
      'the remittance came 17 days after the document',
      'purpose P0102 fits upload type 101',
    ]),
  );
});

it('maps one remittance to several documents, and several remittances to one', () => {
  expect(pairs([irm('A', '9000')], [document('1', '4000'), document('2', '5000')])).toEqual([
    ['A', '1', '4000'],
    ['A', '2', '5000'],
  ]);
  expect(pairs([irm('A', '4000'), irm('B', '5000')], [document('1', '9000')])).toEqual([
    ['A', '1', '4000'],
    ['B', '1', '5000'],
  ]);
});

it('leaves what bank charges took open, instead of taking it from another remittance', () => {
  expect(pairs([irm('A', '9900'), irm('B', '7000')], [document('1', '10000')])).toEqual([['A', '1', '9900']]);
});

it('never maps another currency, and hardly ever another name', () => {
  expect(pairs([irm('A', '5000', { currency: 'EUR' })], [document('1', '5000')])).toEqual([]);
  expect(pairs([irm('A', '5000', { remitter: 'Contoso GmbH' })], [document('1', '5000')])).toEqual([]);
});

it('prefers the document number in the remarks of the bank to the name', () => {
  const { proposals } = propose(
    [irm('A', '5000', { remitter: 'Contoso GmbH', remarks: 'payment of inv/26-117' })],
    [document('4512345', '5000', { billNo: 'INV/26/117' })],
  );
  expect(proposals).toHaveLength(1);
  expect(proposals[0]?.reasons[0]).toMatch(/is in the remarks/);
});

it('expects an advance before the document, and other money after it', () => {
  const before = document('1', '5000', { date: '15052026' });
  const confidence = (purpose: string, irmDt: string) =>
    propose([irm('A', '5000', { purpose, irmDt })], [before]).proposals[0]?.confidence ?? 0;
  expect(confidence('P0102', '01062026')).toBeGreaterThan(confidence('P0102', '01052026'));
  expect(confidence('P0103', '01052026')).toBeGreaterThan(confidence('P0103', '01062026'));
});

it('names other remittances that would suit nearly as well', () => {
  const { proposals } = propose([irm('A', '5000'), irm('B', '5000', { irmDt: '02062026' })], [document('1', '5000')]);
  expect(proposals).toHaveLength(1);
  expect(proposals[0]?.alternatives.map(({ irmNumber }) => irmNumber)).toEqual(['B']);
});

it('proposes the same from the same data in another order', () => {
  const irms = [irm('A', '5000'), irm('B', '5000'), irm('C', '2500.25')];
  const documents = [document('1', '5000'), document('2', '2500.25'), document('3', '5000')];
  expect(new Set(pairs([...irms].sort(), [...documents].reverse()).map(String))).toEqual(
    new Set(pairs(irms, documents).map(String)),
  );
});

describe('the flow of amounts', () => {
  type Link = Parameters<typeof bestFlow>[2][number];

  const worthOf = (supply: number[], demand: number[], links: Link[]) => {
    const flows = bestFlow(supply, demand, links);
    const worth = (from: number, to: number) =>
      Math.max(...links.filter((link) => link.from === from && link.to === to).map((link) => link.worth));
    return flows.reduce((sum, { from, to, amount }) => sum + amount * worth(from, to), 0);
  };

  /** The greatest worth by trying everything, a unit at a time. */
  function tried(supply: number[], demand: number[], links: Link[]): number {
    const known = new Map<string, number>();
    const best = (left: number[], open: number[]): number => {
      const key = `${left.join()}|${open.join()}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      let found = 0;
      for (const { from, to, worth } of links) {
        if (!left[from] || !open[to]) continue;
        const less = (list: number[], at: number) => list.map((value, index) => (index === at ? value - 1 : value));
        found = Math.max(found, worth + best(less(left, from), less(open, to)));
      }
      known.set(key, found);
      return found;
    };
    return best(supply, demand);
  }

  const amounts = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 });

  it('shares out for the greatest worth that there is, and never more than there is', () => {
    const links = fc.uniqueArray(fc.record({ from: fc.nat(2), to: fc.nat(2), worth: fc.integer({ min: 1, max: 9 }) }), {
      maxLength: 9,
      selector: ({ from, to }) => `${from} ${to}`,
    });
    fc.assert(
      fc.property(amounts, amounts, links, (supply, demand, all) => {
        const known = all.filter(({ from, to }) => from < supply.length && to < demand.length);
        const flows = bestFlow(supply, demand, known);
        for (const [index, most] of supply.entries())
          expect(
            flows.filter(({ from }) => from === index).reduce((sum, { amount }) => sum + amount, 0),
          ).toBeLessThanOrEqual(most);
        for (const [index, most] of demand.entries())
          expect(
            flows.filter(({ to }) => to === index).reduce((sum, { amount }) => sum + amount, 0),
          ).toBeLessThanOrEqual(most);
        expect(worthOf(supply, demand, known)).toBe(tried(supply, demand, known));
      }),
      { numRuns: 300 },
    );
  });

  it('gives the best pair up where the whole is worth more', () => {
    const links = [
      { from: 0, to: 0, worth: 90 },
      { from: 0, to: 1, worth: 80 },
      { from: 1, to: 0, worth: 85 },
    ];
    expect(bestFlow([1000, 1000], [1000, 1000], links)).toEqual([
      { from: 0, to: 1, amount: 1000 },
      { from: 1, to: 0, amount: 1000 },
    ]);
  });
});
