/**
 * `npm run chaos`: files many remittances while answers are lost, workers killed and servers restarted, and counts what
 * was filed twice or lost.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { FaultInput } from '../src/sandbox/faults/fault-schema';
import { faultSchema } from '../src/sandbox/faults/fault-schema';
import { table } from '../src/starter/cli/terminal';
import { BAD_NETWORK, LOST_ANSWERS, SLOW_SUBMISSIONS } from './faults';
import { runScenario, type ScenarioResult } from './scenario';
import { SCENARIOS, type Scenario } from './scenarios';
import { TROUBLES, type TroubleKind } from './troubles';

const FILINGS = 200;

interface Flags {
  filings?: number;
  exporters: number;
  workers: number;
  seed: number;
  window: number;
  within: number;
  scenario: string[];
  trouble: TroubleKind[];
  lost: boolean;
  fault: FaultInput[];
}

const lines = (entries: readonly (readonly [string, string])[]) =>
  entries.map(([name, text]) => `  ${name.padEnd(16)} ${text}`).join('\n');

const EXAMPLES = `
Without --trouble and --fault these scenarios run one after the other, or those that --scenario names:
${lines(SCENARIOS.map(({ name, troubles, filings, faults }) => [name, [...troubles, `${faults.length} faults of the service`, ...(filings ? [`${filings} filings`] : [])].join(', ')]))}
With --trouble or --fault one scenario runs, with just these. Troubles:
${lines(Object.entries(TROUBLES))}

Exit code: 0 when nothing was filed twice, nothing lost, nobody asked without need and no worker ended unasked; else 1.

Examples:
  $ npm run chaos
  $ npm run chaos -- --scenario read-only --scenario silent --filings 20
  $ npm run chaos -- --filings 50 --trouble kill --trouble database --seed 7
  $ npm run chaos -- --fault push-irm:hang,every=5,process=true`;

const program = new Command('chaos')
  .description('Files against the sandbox while things go wrong, and counts what was filed twice or lost.')
  .addOption(
    new Option('--filings <n>', `filings to start (default: ${FILINGS}, or as the scenario says)`).argParser(count),
  )
  .addOption(new Option('--exporters <n>', 'exporters that they belong to').default(10).argParser(count))
  .addOption(new Option('--workers <n>', 'worker processes').default(2).argParser(count))
  .addOption(new Option('--seed <n>', 'of the plan and of the order of troubles').default(1).argParser(count))
  .addOption(
    new Option('--window <ms>', 'length of the rate window, 60 s at the real service').default(2_000).argParser(count),
  )
  .addOption(new Option('--within <s>', 'time for all filings of a scenario').default(360).argParser(count))
  .addOption(
    new Option('--scenario <name>', 'one of the scenarios below; may be given several times')
      .default([], 'all')
      .argParser(among(SCENARIOS.map(({ name }) => name))),
  )
  .addOption(
    new Option('--trouble <kind>', 'one of the troubles below; may be given several times')
      .default([], 'none')
      .argParser(among(Object.keys(TROUBLES))),
  )
  .option('--no-lost', 'do not lose the answer of every third submission')
  .addOption(
    new Option('--fault <fault>', 'OPERATION:KIND[,NAME=VALUE…] (docs/sandbox.md); may be given several times')
      .default([], 'none')
      .argParser(fault),
  )
  .addHelpText('after', EXAMPLES);

async function main(): Promise<void> {
  const flags = program.parse().opts<Flags>();
  const results: ScenarioResult[] = [];
  for (const scenario of chosen(flags)) {
    const began = Date.now();
    const say = (message: string) =>
      process.stderr.write(`${String(Math.round((Date.now() - began) / 1_000)).padStart(4)} s  ${message}\n`);
    const filings = flags.filings ?? scenario.filings ?? FILINGS;
    console.log(`\n== ${scenario.name}: ${filings} filings, ${flags.workers} workers, seed ${flags.seed}`);
    const result = await runScenario(scenario, {
      ...flags,
      filings,
      windowMs: flags.window,
      withinMs: flags.within * 1_000,
      say,
    });
    results.push(result);
    for (const problem of result.problems.slice(0, 20)) console.log(`  !! ${problem}`);
  }
  console.log(`\n${tableOf(results)}`);
  const bad = results.filter(({ problems }) => problems.length > 0);
  console.log(
    bad.length === 0
      ? 'Nothing was filed twice, nothing was lost, no worker ended unasked.'
      : `Failed: ${bad.map(({ name }) => name).join('; ')}`,
  );
  process.exit(bad.length === 0 ? 0 : 1);
}

function chosen({ scenario: names, trouble: troubles, lost, fault: faults }: Flags): readonly Scenario[] {
  if (troubles.length === 0 && lost && faults.length === 0) {
    return names.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name));
  }
  const all = [
    ...(lost ? LOST_ANSWERS : []),
    ...(troubles.includes('network') ? BAD_NETWORK : []),
    ...(troubles.includes('kill') ? SLOW_SUBMISSIONS : []),
    ...faults,
  ];
  return [{ name: 'as asked for', faults: all, troubles }];
}

/** A reader of an option that may be given several times, each time with one of `allowed`. */
function among(allowed: readonly string[]) {
  return (text: string, before: string[]): string[] => {
    if (allowed.includes(text)) return [...before, text];
    throw new InvalidArgumentError(`One of: ${allowed.join(', ')}.`);
  };
}

function tableOf(results: readonly ScenarioResult[]): string {
  const names = [...new Set(results.flatMap(({ figures }) => figures.map(([name]) => name)))];
  const rows = names.map((name) => [name, ...results.map(({ figures }) => new Map(figures).get(name) ?? '')]);
  const took = ['seconds', ...results.map(({ tookMs }) => Math.round(tookMs / 1_000))];
  return table(['', ...results.map(({ name }) => name)], [...rows, took]);
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('A whole number above 0.');
}

function fault(text: string, before: FaultInput[]): FaultInput[] {
  const [head = '', ...pairs] = text.split(',');
  const [operation, kind] = head.split(':');
  const settings = pairs.map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    return [name, jsonOrText(value)];
  });
  const parsed = faultSchema.safeParse({ operation, kind, ...Object.fromEntries(settings) });
  if (!parsed.success) throw new InvalidArgumentError(parsed.error.issues.map(({ message }) => message).join('; '));
  return [...before, parsed.data];
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
