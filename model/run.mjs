// `npm run model`: checks the submit protocol and shows that each guard is needed. See docs/protocol.md.
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { boundsOfGates, GATE_GOALS, GATE_MUTANTS, GATE_QUESTIONED, GATE_RUNS } from './gates-runs.mjs';
import { DEEP, MUTANTS as SEND_MUTANTS, QUESTIONED as SEND_QUESTIONED, RUNS as SEND_RUNS } from './runs.mjs';
import { check, findTools, INSTALL, listSteps, walk } from './spin.mjs';
import { toCompact, toSteps, toStepText, toText } from './traces.mjs';

const RUNS = [...SEND_RUNS, ...GATE_RUNS];
const MUTANTS = [...SEND_MUTANTS, ...GATE_MUTANTS];
const QUESTIONED = [...SEND_QUESTIONED, ...GATE_QUESTIONED];

const HELP = `npm run model -- [options]

Checks the model of the submit protocol: every run must hold, every mutant (one guard removed) must be found.

  --gates           only the runs and mutants of the gates
  --run NAME        only this run: ${RUNS.map(({ name }) => name).join(', ')}
  --mutant NAME     only this mutant, with its shortest counterexample:
${[...MUTANTS, ...QUESTIONED].map(({ name, guard }) => `                      ${name.padEnd(29)} without: ${guard}`).join('\n')}
  --deep            all bounds at once: exhaustive in five parts, one after the other; about 11 GB and a quarter of an hour
  --jobs N          checks at the same time (default: 2)
  --json            the result as JSON
  --counterexamples check the mutants alone, and print what happens without each guard
  --traces N        print N random traces as JSON and check nothing
  --seed S          the first trace's seed (default: 1)
  --sample FILE     write random walks of the gates for test/conformance
  --steps FILE      write every step of a filing in the ledger that the model knows, for the check of a chaos run; a quarter of an hour
  --walks N         how many walks a sample has (default: 60)
  --help
`;

const { values } = parseArgs({
  options: {
    run: { type: 'string' },
    mutant: { type: 'string' },
    jobs: { type: 'string', default: String(Math.min(2, cpus().length)) },
    gates: { type: 'boolean', default: false },
    deep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    counterexamples: { type: 'boolean', default: false },
    traces: { type: 'string' },
    seed: { type: 'string', default: '1' },
    sample: { type: 'string' },
    steps: { type: 'string' },
    walks: { type: 'string', default: '60' },
    help: { type: 'boolean', default: false },
  },
});

const print = (text) => process.stdout.write(`${text}\n`);

async function main() {
  if (values.help) return void print(HELP);
  const compiler = await findTools();
  if (!compiler) {
    process.stderr.write(INSTALL);
    process.exitCode = 2;
    return;
  }
  if (values.traces !== undefined) return void (await printTraces());
  if (values.sample !== undefined) return void (await writeSample(values.sample, compiler));
  if (values.steps !== undefined) return void (await writeSteps(values.steps, compiler));
  const chosen = choose();
  if (chosen.length === 0) {
    process.stderr.write(`There is no such run or mutant. ${HELP}`);
    process.exitCode = 2;
    return;
  }
  const results = await checkAll(chosen, compiler);
  if (values.json) print(JSON.stringify(results.map(publicResult), null, 2));
  else if (values.counterexamples) printCounterexamples(results);
  else report(results);
  if (results.some(({ ok }) => !ok)) process.exitCode = 1;
}

function choose() {
  if (values.deep) return DEEP;
  if (values.run) return [...RUNS, ...DEEP].filter(({ name }) => name === values.run);
  if (values.mutant) return [...MUTANTS, ...QUESTIONED].filter(({ name }) => name === values.mutant);
  if (values.counterexamples) return MUTANTS;
  const all = [...RUNS, ...MUTANTS, ...QUESTIONED];
  return values.gates ? all.filter(({ model }) => model === 'gates.pml') : all;
}

/** Checks several runs at a time, the long ones first. */
async function checkAll(chosen, compiler) {
  const waiting = chosen.map((run, at) => ({ run, at }));
  const results = [];
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { run, at } = next;
      const found = await check(run, compiler, { shortest: run.expect === 'breaks' && run.depthLimit === undefined });
      results[at] = { run, ...found, ok: found.verdict === run.expect };
      if (!values.json)
        process.stderr.write(
          `${results[at].ok ? 'ok' : 'NOT AS EXPECTED'}  ${run.name}: ${found.verdict}, ${found.seconds} s\n`,
        );
    }
  };
  await Promise.all(Array.from({ length: values.deep ? 1 : Math.max(1, Number(values.jobs) || 1) }, lane));
  return results;
}

const bounds = (run) => (run.model === 'gates.pml' ? boundsOfGates(run) : boundsOfSends(run));

const boundsOfSends = ({ executions, attempts, operators, repeats, restores }) =>
  `${executions} executions, ${attempts.join('+')} attempts, ${operators} operator actions, ${repeats} repeats, ${restores} restores`;

function publicResult({ run, ok, ...found }) {
  const { name, guard, summary, expect } = run;
  return {
    name,
    ...(guard ? { guard } : { summary }),
    bounds: bounds(run),
    expect,
    ok,
    ...found,
    trace: toSteps(found.trace, run),
  };
}

function report(results) {
  const head = [
    '',
    'verdict',
    'states',
    'depth',
    'seconds',
    'MB',
    'executions / attempts / operators / repeats / restores; of the gates: attempts, and what else there is',
  ];
  const table = results.map(({ run, verdict, states, depth, seconds, memoryMb, ok }) => [
    run.name,
    `${verdict}${ok ? '' : ' (!)'}`,
    String(states ?? ''),
    String(depth ?? ''),
    String(seconds),
    String(Math.round(memoryMb ?? 0)),
    run.model === 'gates.pml'
      ? boundsOfGates(run)
      : [run.executions, run.attempts.join('+'), run.operators, run.repeats, run.restores].join(' / '),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...table.map((cells) => cells[column].length)));
  const line = (cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  print(['', line(head), ...table.map(line)].join('\n'));
  for (const { run, trace, output, ok } of results) {
    const single = values.mutant !== undefined || values.run !== undefined;
    if (trace.length > 0 && (single || (!ok && run.expect === 'holds')))
      print(`\n${run.name}\n${toText(trace).join('\n')}`);
    if (output) print(`\n${run.name}\n${output}`);
  }
  const wrong = results.filter(({ ok }) => !ok).map(({ run }) => run.name);
  print(wrong.length === 0 ? '\nEvery run holds, every mutant is found.' : `\nNot as expected: ${wrong.join(', ')}`);
}

/**
 * Seeds take turns: with and without trouble of each kind, and with runs that wait for their submit or give up early.
 */
function walkBounds(seed) {
  return {
    ...SEND_RUNS[0],
    executions: 3,
    operators: seed % 3,
    repeats: seed % 2,
    restores: seed % 4 === 3 ? 1 : 0,
    defines: seed % 5 === 0 ? [] : ['PATIENT'],
  };
}

/** Random traces, as a list of `{ seed, bounds, steps }`. */
async function printTraces() {
  const first = Number(values.seed);
  const traces = [];
  for (let at = 0; at < Number(values.traces); at++) {
    const seed = first + at;
    const run = walkBounds(seed);
    traces.push({ seed, bounds: bounds(run), steps: toSteps(await walk(run, seed), run) });
  }
  print(JSON.stringify(traces, null, 2));
}

/** What the walks of a sample may meet: without lists nothing is certified by details, which the driver does not do. */
const WALKS = [
  { statements: 1, abandons: 1 },
  { away: 1, slow: 0, statements: 1 },
  { strangers: 1, abandons: 1 },
  { named: 1, lies: 1, slow: 0, attempts: [1, 0] },
  { strangers: 1, lies: 1, attempts: [2, 0] },
  { away: 2, slow: 0, attempts: [2, 0] },
].map((bounds) => ({ ...GATE_RUNS[0], lies: 0, ...bounds, defines: ['NO_LISTS=true'] }));

/** Walks that are looked at for each one of a sample. */
const WALKS_TRIED = 8;
const WALK_STEPS = 60;

/**
 * The sample that test/conformance drives through the gates, with the shortest ways to what walks hardly meet. Walks that say nothing new are left out: each has a pair of
 * neighbouring actions that none before it has.
 */
async function writeSample(file, compiler) {
  const traces = [];
  for (const run of GATE_GOALS) {
    const { trace } = await check(run, compiler, { shortest: true });
    traces.push({ name: run.name, away: run.away === 1, steps: toCompact(trace) });
  }
  const wanted = Number(values.walks) + traces.length;
  const seen = new Set();
  const first = Number(values.seed);
  for (let seed = first; seed < first + wanted * WALKS_TRIED && traces.length < wanted; seed++) {
    const steps = toCompact(await walk(WALKS[seed % WALKS.length], seed)).slice(0, WALK_STEPS);
    const actions = steps.map(([actor, action]) => `${actor}: ${action}`);
    const pairs = actions.map((action, at) => `${action} > ${actions[at + 1]}`).filter((pair) => !seen.has(pair));
    if (pairs.length < 3) continue;
    for (const pair of pairs) seen.add(pair);
    traces.push({ name: `walk ${seed}`, away: WALKS[seed % WALKS.length].away === 1, steps });
  }
  await writeFile(file, `[\n${traces.map((trace) => JSON.stringify(trace)).join(',\n')}\n]\n`);
}

/** Runs that together have what the protocol does to a filing; those with a restore last. */
const LISTED = [
  'safety-operators',
  'safety-duplicate',
  'safety-repeat-restore',
  'safety-three',
  'safety-restore',
  'safety-three-operators',
  'restored-together',
];

/** The steps, and apart from them those that only a ledger that went back makes. */
async function writeSteps(file, compiler) {
  const always = new Set();
  const restored = new Set();
  for (const run of LISTED.map((name) => SEND_RUNS.find((each) => each.name === name))) {
    const steps = await listSteps(run, compiler);
    for (const step of steps) (run.restores > 0 ? restored : always).add(toStepText(step));
    process.stderr.write(`${run.name}: ${steps.length} steps\n`);
  }
  const list = { always: [...always].sort(), restored: [...restored].filter((step) => !always.has(step)).sort() };
  await writeFile(file, `${JSON.stringify(list, null, 2)}\n`);
}

function printCounterexamples(results) {
  for (const { run, trace } of results.filter(({ run, verdict }) => run.expect === 'breaks' && verdict === 'breaks'))
    print(`${run.name}, without: ${run.guard ?? run.summary}\n${toText(trace).join('\n')}\n`);
}

await main();
