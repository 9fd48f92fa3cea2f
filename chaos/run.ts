/**
 * `npm run chaos`: files many remittances while answers are lost, workers are killed and servers restarted, and counts
 * what was filed twice or lost.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { prettifyError, ZodError } from 'zod';
import { parseFault, type FaultInput } from '../sandbox/faults/fault-schema';
import { BAD_NETWORK, LOST_ANSWERS, SLOW_SUBMISSIONS } from './faults';
import { summaryOf, tableOf, writeDocs } from './report';
import { runScenario, type ScenarioResult } from './scenario';
import { SCENARIOS, SMALL, type Scenario } from './scenarios';
import { DISRUPTIONS, type DisruptionKind } from './disruptions/disruptions';

const FILINGS = 150;

interface Flags {
  filings?: number;
  exporters: number;
  workers: number;
  seed: number;
  window: number;
  within: number;
  scenario: string[];
  disruption: DisruptionKind[];
  lost: boolean;
  fault: FaultInput[];
  json: boolean;
  writeDocs: boolean;
}

const ALL = [...SCENARIOS, SMALL];

const lines = (entries: readonly (readonly [string, string])[]) =>
  entries.map(([name, text]) => `  ${name.padEnd(16)} ${text}`).join('\n');

const EXAMPLES = `
Without --disruption and --fault all of these scenarios but the last run one after the other, or those that --scenario names:
${lines(ALL.map(({ name, disruptions, filings, faults }) => [name, [...disruptions, `${faults.length} faults of the service`, ...(filings ? [`${filings} filings`] : [])].join(', ')]))}
With --disruption or --fault a single scenario runs with just these. Disruptions:
${lines(Object.entries(DISRUPTIONS))}

Exit code: 0 when nothing was filed twice, nothing lost, no person asked without need and no worker exited unexpectedly; else 1.

Examples:
  $ npm run chaos
  $ npm run chaos -- --scenario read-only --scenario silent --filings 20
  $ npm run chaos -- --filings 50 --disruption kill --disruption database --seed 7
  $ npm run chaos -- --fault push-irm:hang,every=5,process=true`;

const program = new Command('chaos')
  .description('Files against the sandbox under faults and disruptions, and counts what was filed twice or lost.')
  .addOption(
    new Option('--filings <n>', `filings to start (default: ${FILINGS}, or as the scenario says)`).argParser(count),
  )
  .addOption(new Option('--exporters <n>', 'exporters that the filings belong to').default(10).argParser(count))
  .addOption(new Option('--workers <n>', 'worker processes').default(2).argParser(count))
  .addOption(new Option('--seed <n>', 'seed of the plan and of the order of disruptions').default(1).argParser(count))
  .addOption(
    new Option('--window <ms>', 'length of the rate window, 60 s at the real service').default(2_000).argParser(count),
  )
  .addOption(
    new Option('--within <s>', 'time limit for all filings of a scenario, in seconds').default(360).argParser(count),
  )
  .addOption(
    new Option('--scenario <name>', 'one of the scenarios below; may be given several times')
      .default([], 'all')
      .argParser(among(ALL.map(({ name }) => name))),
  )
  .addOption(
    new Option('--disruption <kind>', 'one of the disruptions below; may be given several times')
      .default([], 'none')
      .argParser(among(Object.keys(DISRUPTIONS))),
  )
  .option('--no-lost', 'do not lose the answer of every third submission')
  .addOption(
    new Option('--fault <fault>', 'OPERATION:KIND[,NAME=VALUE…] (docs/sandbox.md); may be given several times')
      .default([], 'none')
      .argParser(fault),
  )
  .option('--json', 'print the results as JSON on standard output, and the rest on standard error', false)
  .option('--write-docs', 'put the summary into docs/reliability.md', false)
  .addHelpText('after', EXAMPLES);

async function main(): Promise<void> {
  const flags = program.parse().opts<Flags>();
  const print = flags.json ? (text: string) => void process.stderr.write(`${text}\n`) : console.log;
  const results: ScenarioResult[] = [];
  for (const scenario of chosen(flags)) {
    const filings = flags.filings ?? scenario.filings ?? FILINGS;
    print(`\n== ${scenario.name}: ${filings} filings, ${flags.workers} workers, seed ${flags.seed}`);
    const result = await tryScenario(scenario, filings, flags);
    results.push(result);
    for (const problem of result.problems.slice(0, 20)) print(`  !! ${problem}`);
  }
  print(`\n${tableOf(results)}\n\n${summaryOf(results)}\n`);
  if (flags.json) console.log(JSON.stringify({ seed: flags.seed, results }, null, 2));
  if (flags.writeDocs) await writeDocs(results, flags);
  const bad = results.filter(({ problems }) => problems.length > 0);
  print(
    bad.length === 0
      ? 'Nothing was filed twice, nothing was lost, and no worker exited unexpectedly.'
      : `Failed: ${bad.map(({ name }) => name).join('; ')}`,
  );
  process.exit(bad.length === 0 ? 0 : 1);
}

/** A scenario that throws counts as failed; the next one still runs. */
async function tryScenario(scenario: Scenario, filings: number, flags: Flags): Promise<ScenarioResult> {
  const began = Date.now();
  const seconds = () => String(Math.round((Date.now() - began) / 1_000)).padStart(4);
  const say = (message: string) => void process.stderr.write(`${seconds()} s  ${message}\n`);
  try {
    const withinMs = flags.within * 1_000;
    return await runScenario(scenario, { ...flags, filings, windowMs: flags.window, withinMs, say });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      name: scenario.name,
      problems: [`given up: ${why}`],
      figures: [],
      disruptions: [],
      tookMs: Date.now() - began,
    };
  }
}

function chosen({ scenario: names, disruption: disruptions, lost, fault: faults }: Flags): readonly Scenario[] {
  if (disruptions.length === 0 && lost && faults.length === 0) {
    return names.length === 0 ? SCENARIOS : ALL.filter(({ name }) => names.includes(name));
  }
  const all = [
    ...(lost ? LOST_ANSWERS : []),
    ...(disruptions.includes('network') ? BAD_NETWORK : []),
    ...(disruptions.includes('kill') ? SLOW_SUBMISSIONS : []),
    ...faults,
  ];
  return [{ name: 'custom', faults: all, disruptions, mayEndOtherwise: true }];
}

/** Parser of an option that may be given several times, each time with one of `allowed`. */
function among(allowed: readonly string[]) {
  return (text: string, before: string[]): string[] => {
    if (allowed.includes(text)) return [...before, text];
    throw new InvalidArgumentError(`One of: ${allowed.join(', ')}.`);
  };
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('A whole number above 0.');
}

function fault(text: string, before: FaultInput[]): FaultInput[] {
  try {
    return [...before, parseFault(text)];
  } catch (error) {
    throw new InvalidArgumentError(error instanceof ZodError ? prettifyError(error) : String(error));
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
