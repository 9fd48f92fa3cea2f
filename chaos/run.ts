/** `npm run chaos`: files many remittances while answers are lost, workers killed and servers restarted, and counts what was filed twice or lost. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { FaultInput } from '../src/sandbox/fault-schema';
import { faultSchema } from '../src/sandbox/fault-schema';
import { table } from '../src/starter/cli/terminal';
import { runScenario, type Scenario, type ScenarioResult } from './scenario';
import { BAD_NETWORK, LOST_ANSWERS, SLOW_SUBMISSIONS } from './troubles';

const NO_TROUBLE = { kill: false, database: false, network: false };

/** What runs when no trouble is asked for in particular. */
const SCENARIOS: readonly Scenario[] = [
  { name: 'lost answers', faults: LOST_ANSWERS, troubles: NO_TROUBLE },
  {
    name: 'and workers killed',
    faults: [...LOST_ANSWERS, ...SLOW_SUBMISSIONS],
    troubles: { ...NO_TROUBLE, kill: true },
  },
  {
    name: 'and everything else',
    faults: [...LOST_ANSWERS, ...BAD_NETWORK, ...SLOW_SUBMISSIONS],
    troubles: { kill: true, database: true, network: true },
  },
];

interface Flags {
  filings: number;
  exporters: number;
  workers: number;
  seed: number;
  window: number;
  within: number;
  kill?: boolean;
  database?: boolean;
  network?: boolean;
  lost: boolean;
  fault: FaultInput[];
}

const EXAMPLES = `
Without --kill, --database, --network or --fault three scenarios run one after the other: lost answers; the same and workers killed;
the same, PostgreSQL crashing, connections ended and a bad network. With any of them one scenario runs, with just these.

Exit code: 0 when nothing was filed twice and nothing lost, else 1.

Examples:
  $ npm run chaos
  $ npm run chaos -- --filings 50 --kill --seed 7
  $ npm run chaos -- --fault push-irm:hang,every=5,process=true`;

const program = new Command('chaos')
  .description('Files against the sandbox while things go wrong, and counts what was filed twice or lost.')
  .addOption(new Option('--filings <n>', 'filings to start').default(200).argParser(count))
  .addOption(new Option('--exporters <n>', 'exporters that they belong to').default(10).argParser(count))
  .addOption(new Option('--workers <n>', 'worker processes').default(2).argParser(count))
  .addOption(new Option('--seed <n>', 'of the plan and of the order of troubles').default(1).argParser(count))
  .addOption(
    new Option('--window <ms>', 'length of the rate window, 60 s at the real service').default(2_000).argParser(count),
  )
  .addOption(new Option('--within <s>', 'time for all filings of a scenario').default(360).argParser(count))
  .option('--kill', 'kill workers at random (kill -9), and let submissions take long enough to be met by it')
  .option('--database', 'end connections, crash PostgreSQL, stop workers (SIGTERM) at random')
  .option('--network', 'resets, 502s, silence and refused connections at random')
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
    console.log(`\n== ${scenario.name}: ${flags.filings} filings, ${flags.workers} workers, seed ${flags.seed}`);
    const result = await runScenario(scenario, {
      ...flags,
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
      ? 'Nothing was filed twice, nothing was lost.'
      : `Failed: ${bad.map(({ name }) => name).join('; ')}`,
  );
  process.exit(bad.length === 0 ? 0 : 1);
}

function chosen({ kill = false, database = false, network = false, lost, fault: faults }: Flags): readonly Scenario[] {
  if (!kill && !database && !network && lost && faults.length === 0) return SCENARIOS;
  const all = [
    ...(lost ? LOST_ANSWERS : []),
    ...(network ? BAD_NETWORK : []),
    ...(kill ? SLOW_SUBMISSIONS : []),
    ...faults,
  ];
  return [{ name: 'as asked for', faults: all, troubles: { kill, database, network } }];
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
