import { planOf, planSchema, type Plan } from '../../chaos/adversary/plan';
import { shrink } from '../../chaos/adversary/shrink';

/** Which plans break: those with a "not filed" about a filing of the second remittance. */
const breaks = (plans: readonly Plan[]): Promise<boolean[]> =>
  Promise.resolve(
    plans.map(({ filings, steps }) =>
      steps.some((step) => step.do === 'not filed' && filings[step.filing]?.rows.some(({ irm }) => irm === 1)),
    ),
  );

it('shrinks a plan to the one step, filing and row that it needs', async () => {
  const row = (irm: number) => ({ irm, document: 1, amount: 100 });
  const filing = { at: 700, channel: 'bulk' as const, approval: true };
  const plan: Plan = {
    filings: [
      { ...filing, rows: [row(0)] },
      { ...filing, rows: [row(0), row(1)] },
    ],
    steps: [
      { at: 0, do: 'lie', lie: 'listed twice', times: 3 },
      { at: 900, do: 'reset', filing: 0, task: 3 },
      { at: 4_100, do: 'not filed', filing: 1, persons: 2, ends: true },
      { at: 4_200, do: 'crash database' },
    ],
  };
  expect(await shrink(plan, breaks, { atOnce: 3, tries: 200 })).toEqual({
    filings: [{ at: 0, channel: 'push', approval: false, rows: [row(1)] }],
    steps: [{ at: 4_000, do: 'not filed', filing: 0, persons: 1, ends: false }],
  });
});

it('plays no more plans than it may', async () => {
  let played = 0;
  const never = (plans: readonly Plan[]) => Promise.resolve(plans.map(() => (played += 1) < 0));
  await shrink(planOf(3), never, { atOnce: 4, tries: 6 });
  expect(played).toBe(6);
});

it('draws the same plan from the same seed, and a plan that was printed can be read again', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const plan = planOf(seed);
    expect(planOf(seed)).toEqual(plan);
    expect(planSchema.parse(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
  }
});
