import fc from 'fast-check';
import { bestFlow } from '../../src/assistant/proposals/assignment';

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
        expect(flows.filter(({ to }) => to === index).reduce((sum, { amount }) => sum + amount, 0)).toBeLessThanOrEqual(
          most,
        );
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
