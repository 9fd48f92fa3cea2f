/** `npm run adversary`: makes random plans against the filing core, and shrinks each that breaks a promise. */
import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { forEachLimited } from '../../src/domain/values';
import { clearAway, close } from './close';
import { judge } from './judge';
import { openLab, type Lab } from './lab';
import { isForAll, planOf, planSchema, type Plan } from './plan';
import { play } from './play';
import { shrink } from './shrink';

interface Flags {
  plans: number;
  seed: number;
  plan?: string;
  minutes: number;
  atOnce: number;
  shrink: boolean;
  json: boolean;
}

/** A plan that broke a promise, and what it broke. */
interface Broken {
  seed: number | undefined;
  problems: string[];
  /** The shortest plan that still breaks one. */
  plan: Plan;
}

const SHRINK_TRIES = 100;

const program = new Command('adversary')
  .description('Plays random plans of operators, persons and a hostile service against the filing core.')
  .addOption(new Option('--plans <n>', 'plans to play').default(40).argParser(count))
  .addOption(
    new Option('--seed <n>', 'seed of the first plan; each further plan has the next one').default(1).argParser(count),
  )
  .option('--plan <file>', 'plays the plan of this file (JSON) instead, as often as --plans says (default: once)')
  .addOption(new Option('--minutes <n>', 'starts no further plan after so many minutes').default(60).argParser(count))
  .addOption(new Option('--at-once <n>', 'plans that are played beside each other').default(6).argParser(count))
  .option('--no-shrink', 'do not look for a shorter plan that breaks the same')
  .option('--json', 'print the result as JSON on standard output', false)
  .addHelpText(
    'after',
    '\nExit code: 0 when every plan kept every promise, else 1. A plan that broke one is printed: keep it as a file, and replay it with --plan FILE.',
  );

async function main(): Promise<void> {
  const flags = program.parse().opts<Flags>();
  const began = Date.now();
  const say = (text: string) =>
    void process.stderr.write(`${String(Math.round((Date.now() - began) / 1_000)).padStart(5)} s  ${text}\n`);
  const plans = await plansOf(flags, program.getOptionValueSource('plans') === 'default');
  const lab = await openLab(say);
  let played = 0;
  const broken: Broken[] = [];
  try {
    await playAll(plans, flags.atOnce, async (plan) => {
      if (Date.now() - began > flags.minutes * 60_000) return;
      const { problems, story, refused } = await tryPlan(lab, plan);
      played += 1;
      if (problems.length > 0) broken.push({ seed: plan.seed, problems, plan });
      say(`plan ${plan.seed ?? ''}: ${problems.join('; ') || 'kept every promise'} (${story})`);
      if (flags.plan !== undefined) say(refused.join('\n'));
    });
    if (flags.shrink) for (const each of broken) each.plan = await shrunk(lab, each.plan, flags.atOnce, say);
    say(await figuresOf(lab));
  } finally {
    await lab.stop({ keep: broken.length > 0 });
  }
  const seconds = Math.round((Date.now() - began) / 1_000);
  for (const { seed, problems, plan } of broken)
    say(`plan ${seed ?? ''} broke: ${problems.join('; ')}\n${JSON.stringify(plan)}`);
  say(
    `${played} plans in ${seconds} s, ${broken.length} broke a promise${broken.length > 0 ? `; logs and data: ${lab.stage.folder}` : ''}`,
  );
  if (flags.json) console.log(JSON.stringify({ plans: played, seed: flags.seed, seconds, broken }, null, 2));
  process.exit(broken.length > 0 ? 1 : 0);
}

async function plansOf({ plans, seed, plan }: Flags, once: boolean): Promise<Plan[]> {
  if (plan === undefined) return Array.from({ length: plans }, (_unused, nth) => planOf(seed + nth));
  const read = planSchema.parse(JSON.parse(await readFile(plan, 'utf8')));
  return Array.from({ length: once ? 1 : plans }, () => read);
}

/** Plays plans beside each other; those that strike all others alone, in between. */
async function playAll(plans: readonly Plan[], atOnce: number, work: (plan: Plan) => Promise<void>): Promise<void> {
  for (let from = 0; from < plans.length; from += BATCH) {
    const batch = plans.slice(from, from + BATCH);
    for (const isAlone of [false, true]) {
      const some = batch.filter((plan) => plan.steps.some(isForAll) === isAlone);
      await forEachLimited(some, isAlone ? 1 : atOnce, work);
    }
  }
}
const BATCH = 40;

/** @returns the promises that the plan broke, how its filings stand, and the steps that were refused */
async function tryPlan(lab: Lab, plan: Plan): Promise<{ problems: string[]; story: string; refused: string[] }> {
  const { workers } = lab;
  const known = workers.problems.length;
  try {
    const played = await play(lab, plan);
    const filings = await close(lab, played);
    const problems = await judge(lab, played, filings);
    await clearAway(lab, played);
    const states = filings.map(({ state }) => state).join(', ');
    const story = `${states}; ${played.said.length} decisions`;
    return { problems: [...problems, ...workers.problems.slice(known)], story, refused: played.refused };
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { problems: [`given up: ${why}`], story: '', refused: [] };
  }
}

function shrunk(lab: Lab, plan: Plan, atOnce: number, say: (text: string) => void): Promise<Plan> {
  const breaks = async (plans: readonly Plan[]): Promise<boolean[]> => {
    const broke = new Map<Plan, boolean>();
    await playAll(plans, atOnce, async (each) => void broke.set(each, (await tryPlan(lab, each)).problems.length > 0));
    say(
      `shrinking plan ${plan.seed ?? ''}: ${plans[0]?.steps.length ?? 0} steps, ${[...broke.values()].filter(Boolean).length} of ${plans.length} still break`,
    );
    return plans.map((each) => broke.get(each) ?? false);
  };
  return shrink(plan, breaks, { atOnce, tries: SHRINK_TRIES });
}

/** What the plans came to in the ledger. */
async function figuresOf({ stage }: Lab): Promise<string> {
  const { rows } = await stage.pool.query<{ text: string }>(
    `SELECT string_agg(what || ' ' || n, ', ' ORDER BY what) AS text FROM (
       SELECT 'attempts ' || verdict AS what, count(*) AS n FROM attempts GROUP BY 1
       UNION ALL SELECT 'decisions ' || kind || ' ' || coalesce(outcome, 'open'), count(*) FROM decisions GROUP BY 1
       UNION ALL SELECT 'rows certified by ' || certified_by, count(*) FROM filing_rows WHERE certified_by IS NOT NULL GROUP BY 1
       UNION ALL SELECT 'findings ' || kind, count(*) FROM findings GROUP BY 1) AS counted`,
  );
  return rows[0]?.text ?? '';
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('A whole number above 0.');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
