/** Makes a plan that breaks a promise as short and plain as it still breaks one. */
import type { Plan, Step } from './plan';

/** Plans that are a little shorter or plainer than this one, the boldest first. */
function* smallerThan(plan: Plan): Generator<Plan> {
  const { filings, steps } = plan;
  for (let size = Math.floor(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < steps.length; from += size)
      yield { ...plan, steps: steps.filter((_step, nth) => nth < from || nth >= from + size) };
  }
  if (filings.length > 1) for (const nth of filings.keys()) yield withoutFiling(plan, nth);
  for (const [nth, filing] of filings.entries()) {
    const change = (changes: Partial<Plan['filings'][number]>): Plan => ({
      ...plan,
      filings: filings.map((each, at) => (at === nth ? { ...each, ...changes } : each)),
    });
    const { rows } = filing;
    if (rows.length > 1) for (const row of rows) yield change({ rows: rows.filter((each) => each !== row) });
    if (filing.channel === 'bulk') yield change({ channel: 'push' });
    if (filing.approval) yield change({ approval: false });
    if (filing.at > 0) yield change({ at: 0 });
  }
  for (const [nth, step] of steps.entries())
    for (const plainer of plainerThan(step))
      yield { ...plan, steps: steps.map((each, at) => (at === nth ? plainer : each)) };
}

function withoutFiling({ seed, filings, steps }: Plan, gone: number): Plan {
  const kept = steps.filter((step) => !('filing' in step) || step.filing !== gone);
  return {
    ...(seed === undefined ? {} : { seed }),
    filings: filings.filter((_filing, nth) => nth !== gone),
    steps: kept.map((step) => ('filing' in step && step.filing > gone ? { ...step, filing: step.filing - 1 } : step)),
  };
}

function* plainerThan(step: Step): Generator<Step> {
  if (step.do === 'lie' && step.times > 1) yield { ...step, times: 1 };
  if (step.do === 'fault' && (step.fault.skip ?? 0) > 0) yield { ...step, fault: { ...step.fault, skip: 0 } };
  if ('persons' in step && step.persons === 2) yield { ...step, persons: 1 };
  if (step.do === 'not filed' && step.ends) yield { ...step, ends: false };
  if (step.do === 'by hand' && step.amount === 'other') yield { ...step, amount: 'same' };
  if (step.at > 0 && step.at % 1_000 !== 0) yield { ...step, at: Math.round(step.at / 1_000) * 1_000 };
}

/**
 * The shortest plan that still breaks a promise, of those that this finds.
 * @param breaks which of these plans break a promise: they are played beside each other where that is possible
 * @param tries how many plans may be played
 */
export async function shrink(
  plan: Plan,
  breaks: (plans: readonly Plan[]) => Promise<boolean[]>,
  { atOnce, tries }: { atOnce: number; tries: number },
): Promise<Plan> {
  let smallest = plan;
  for (let left = tries; left > 0;) {
    let found: Plan | undefined;
    const candidates = [...smallerThan(smallest)];
    for (let from = 0; from < candidates.length && !found && left > 0; from += atOnce) {
      const some = candidates.slice(from, from + Math.min(atOnce, left));
      left -= some.length;
      const broken = await breaks(some);
      found = some.find((_plan, nth) => broken[nth]);
    }
    if (!found) break;
    smallest = found;
  }
  return smallest;
}
