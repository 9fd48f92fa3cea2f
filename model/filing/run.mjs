// `npm run model:filing`: checks the model of the filing core, and shows that each of its rules is needed.
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HERE = dirname(fileURLToPath(import.meta.url));

/** NE: sends that were begun. The rest is explained at the head of filing.pml. */
const BOUNDS = {
  NE: 2,
  ATTEMPTS: 2,
  CORRECTION: 0,
  LIES: 0,
  LATE: 0,
  ERRED_FIRST: 0,
  HANDS: 0,
  FOREIGNERS: 0,
  UNLIKE: 0,
  ELSEWHERE: 0,
  PARTS: 0,
  WORDS: 0,
  OTHER_IDS: 0,
  APPROVALS: 0,
  JUMPS: 0,
  USES: 0,
  LOST: 0,
  BACK: 0,
  RESETS: 0,
};

const holds = (name, summary, bounds) => ({ name, summary, expect: 'holds', bounds });

const lies = { LIES: 1 };
const parts = { LIES: 1, PARTS: 1 };
const words = { WORDS: 1, LATE: 1, LIES: 1 };
const foreign = { NE: 1, ATTEMPTS: 1, FOREIGNERS: 1, LIES: 1, ELSEWHERE: 1 };
const correction = { ATTEMPTS: 1, CORRECTION: 1 };

const RUNS = [
  holds('two attempts', 'one person may be wrong, and a reading may have only a part', parts),
  holds('one shows late', 'a certificate after the settle time', { LATE: 1, LIES: 1 }),
  holds('words', 'refusals and words like "duplicate"', words),
  holds('foreign', 'certificates of another IRM, other uses of the IRM', { ...foreign, PARTS: 1 }),
  holds('foreign, two attempts', 'and the mapping is sent again', { ...foreign, NE: 2, ATTEMPTS: 2, ELSEWHERE: 0 }),
  holds('correction', 'a row that Errored is filed again', { ...correction, ERRED_FIRST: 1, LIES: 1 }),
  holds('correction, words', 'after a refusal', { ...correction, ...words }),
  holds('correction, other ids', 'an answer with the id of another request', { ...correction, OTHER_IDS: 1 }),
  holds('hands', 'somebody files by hand', { ...correction, HANDS: 1, LIES: 1 }),
  holds('unlike', 'certificates have another amount', { ...correction, HANDS: 1, UNLIKE: 1, ERRED_FIRST: 1 }),
  holds('measures of time', 'clock, beats or settings run ahead', { JUMPS: 1, LIES: 1 }),
  holds('approvals', 'it is approved or abandoned', { APPROVALS: 1, ATTEMPTS: 1 }),
  holds('ledger back 1', 'fail-over', { BACK: 1, RESETS: 1, LIES: 1 }),
  holds('ledger back 2', 'a restore', { BACK: 2, RESETS: 1, CORRECTION: 1, ATTEMPTS: 1 }),
  holds('ledger back 3', 'a disk snapshot', { BACK: 3, RESETS: 1 }),
];

/** What must be reachable: a run that holds because nothing happens says nothing. */
const GOALS = [
  ['a certificate is adopted', {}],
  ['a freed row is held again for its certificate', { ...correction, NE: 1, ERRED_FIRST: 1 }],
  ['a second attempt is sent', {}],
  ['a correction is sent', correction],
  ['a late answer is stored', {}],
  ['two persons let a send go', { NE: 1, FOREIGNERS: 1 }],
].map(([summary, bounds], at) => ({ name: `reach: ${summary}`, expect: 'met', bounds, defines: [`-DGOAL=${at + 1}`] }));

const without = (rule, bounds = {}, also) => ({
  name: rule,
  expect: 'breaks',
  bounds,
  defines: [`-DMUTANT=${rule}`, ...(also ? [`-DALSO=${also}`] : [])],
});

const MUTANTS = [
  without('NOT_ENDED', { APPROVALS: 1, ATTEMPTS: 1, NE: 1 }, 'ROWS_PLANNED'),
  without('ROWS_PLANNED', {}, 'ONE_IN_DOUBT'),
  without('APPROVED', { APPROVALS: 1, ATTEMPTS: 1, NE: 1 }),
  without('NOBODY_ELSE', { ...correction, LATE: 1, NE: 2 }),
  without('NEW_NUMBER', { ATTEMPTS: 1, CORRECTION: 1, NE: 3 }),
  without('SAME_EPOCH', { BACK: 1 }),
  without('BEAT_IS_KNOWN', { BACK: 3 }),
  without('NOT_RECOVERING', { BACK: 2, CORRECTION: 1, ATTEMPTS: 1 }),
  without('READ_WITHIN_HOUR', { NE: 1, ATTEMPTS: 1, HANDS: 1 }),
  without('READ_SINCE_FREED', { ...correction, ERRED_FIRST: 1 }),
  without('EQUAL_STANDS', { NE: 1, ATTEMPTS: 1, HANDS: 1 }),
  without('AGREEING_STANDS', { ...correction, ERRED_FIRST: 1, UNLIKE: 1 }),
  without('READ_WHOLE', { NE: 1, ATTEMPTS: 1, HANDS: 1, PARTS: 1 }),
  without('TWO_LET_GO', { NE: 1, ATTEMPTS: 1, HANDS: 1, LIES: 1 }),
  without('ONLY_WHAT_WAS_SHOWN', { ATTEMPTS: 1, NE: 1, HANDS: 1, FOREIGNERS: 1 }),
  without('WRITE_IN_TIME'),
  without('CUT_IS_UNKNOWN'),
  without('OWN_MARK_ALONE'),
  without('DUPLICATE_IS_UNKNOWN', { ...correction, WORDS: 1 }),
  without('REFUSED_AFTER_NOT_FILED', { WORDS: 1, LATE: 1, CORRECTION: 1, NE: 3 }),
  without('LATE_ACCEPTANCE', { LATE: 1 }),
  without('LATE_BESIDE_ANOTHER', { LATE: 1 }),
  without('ID_OF_ANOTHER', { ...correction, OTHER_IDS: 1 }),
  without('ADOPT_AFTER_WINDOW', { ...foreign }),
  without('ADOPT_WHOLE', { ...foreign, PARTS: 1 }),
  without('ADOPT_FALL_EXACT', foreign),
  without('ADOPT_NOTHING_ELSE', foreign),
  without('ADOPT_NONE_ON_ITS_WAY', foreign),
  without('ADOPT_AS_MANY', foreign),
  without('ADOPT_NEW', foreign),
  without('ADOPT_EQUAL', foreign),
  without('TWO_NAME', foreign),
  without('NOT_FILED_WINDOW', {}),
  without('NOT_FILED_READING', lies),
  without('TWO_AGAINST_EVIDENCE', lies),
  without('SHOWN_TO_BOTH', { LIES: 1, LATE: 1, FOREIGNERS: 1 }),
  without('EVIDENCE_CERTIFICATES', lies),
  without('EVIDENCE_FALL', lies),
  without('EVIDENCE_UNREAD', parts),
  without('EVIDENCE_REQUEST', { LIES: 1, LATE: 1 }),
  without('EVIDENCE_WORDS', words),
  without('WORDS_END_IT', words),
  without('DENIAL_WINDOW', {}),
  without('CLOCK_AND_BEATS', { JUMPS: 1 }),
  without('BEATS_AND_CLOCK', { JUMPS: 1 }),
  without('LONGER_WINDOW', { JUMPS: 1 }),
  without('ERRED_AFTER_NOT_FILED', { LATE: 1, CORRECTION: 1, NE: 3 }),
  without('ERRED_DUPLICATE', { WORDS: 1, ERRED_FIRST: 1 }),
  without('ERRED_OWN_REQUEST', { HANDS: 1 }),
  without('LATE_CERTIFICATE', { ...correction, NE: 1, ERRED_FIRST: 1 }),
  without('TOLD_REMEMBERED', { BACK: 1 }),
  without('TOLD_EPOCH', { BACK: 1 }),
  without('TOLD_BEAT', { BACK: 3 }),
  without('FINDING_STICKS', { BACK: 1 }),
  without('ANOTHER_RUN', { BACK: 1, RESETS: 1 }),
  without('ANOTHER_RUN_STICKS', { BACK: 1, RESETS: 1 }),
  without('RESET_IS_ANOTHER', { BACK: 1, RESETS: 1 }),
  without('WORKERS_SEE_BEATS', { BACK: 3 }),
  without('READ_AFTER_RESTORE', { BACK: 2, CORRECTION: 1, ATTEMPTS: 1 }),
  without('OPEN_IS_UNKNOWN', { BACK: 2 }),
  without('RECORDED_AGAIN_UNKNOWN', { BACK: 2, ATTEMPTS: 1 }),
  without('ANSWER_IS_FINDING', { BACK: 1 }),
];

const HELP = `npm run model:filing -- [options]

Checks the model of the filing core: every run must hold, and without any one of its rules a promise must break.

  --only TEXT       only runs and rules whose name contains TEXT; with what happens, step by step
  --jobs N          checks at the same time (default: 2)
  --json            the result as JSON
  --help

Runs:
${RUNS.map(({ name, summary }) => `  ${name.padEnd(24)} ${summary}`).join('\n')}
`;

const INSTALL = `The model is checked with Spin and a C compiler:
  Debian, Ubuntu   sudo apt-get install -y spin gcc
  macOS            brew install spin
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: String(Math.min(2, cpus().length)) },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const print = (text) => process.stdout.write(`${text}\n`);

/** Runs a program to its end. @returns its exit code and everything that it printed. Rejects where it cannot be started. */
function runProgram(command, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** @returns the C compiler's name, or null where Spin or a compiler is missing. */
async function findTools() {
  const works = (command, args) =>
    runProgram(command, args).then(
      ({ code }) => code === 0,
      () => false,
    );
  if (!(await works('spin', ['-V']))) return null;
  for (const compiler of [process.env.CC, 'gcc', 'cc', 'clang']) {
    if (compiler && (await works(compiler, ['--version']))) return compiler;
  }
  return null;
}

const number = (output, pattern) => {
  const found = pattern.exec(output);
  return found ? Number(found[1]) : null;
};

const definesOf = ({ bounds, defines = [] }) => [
  ...Object.entries({ ...BOUNDS, ...bounds }).map(([name, value]) => `-D${name}=${value}`),
  ...defines,
];

/**
 * Checks one run in a folder of its own. Every state is visited and stored whole (no bitstate, no hash-compact): `holds` is
 * exhaustive within the bounds. What must break is searched breadth first, so that the counterexample is a shortest one.
 */
async function check(run, compiler) {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-model-'));
  try {
    await cp(HERE, folder, { recursive: true, filter: (file) => file === HERE || file.endsWith('.pml') });
    const started = Date.now();
    const generated = await runProgram('spin', ['-a', ...definesOf(run), 'filing.pml'], folder);
    if (generated.code !== 0 || /Error/.test(generated.output))
      throw new Error(`Spin cannot read the model:\n${generated.output}`);
    // Optimising a verifier takes longer than a short search.
    const options = run.expect === 'holds' ? ['-O0', '-DCOLLAPSE'] : ['-O0', '-DBFS'];
    const compiled = await runProgram(
      compiler,
      ['-w', '-DNOREDUCE', '-DSAFETY', '-DMEMLIM=6000', ...options, '-o', 'pan', 'pan.c'],
      folder,
    );
    if (compiled.code !== 0) throw new Error(`The verifier does not compile:\n${compiled.output}`);
    const { output } = await runProgram('./pan', ['-n', '-E', '-m1000000'], folder);
    const errors = number(output, /errors: (\d+)/);
    // A search that ran out of memory or depth is not exhaustive, whatever it found until then.
    const complete = errors !== null && !/(max search depth too small|out of memory|aborted|Search not completed)/.test(output);
    const trace = errors ? await replay(run, folder) : [];
    const broken = trace.at(-1)?.startsWith('broken') ? 'breaks' : 'met';
    return {
      verdict: errors ? broken : complete ? 'holds' : 'incomplete',
      states: number(output, /([\d.e+]+) states, stored/),
      seconds: Math.round((Date.now() - started) / 100) / 10,
      trace,
      ...(errors || complete ? {} : { output }),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns the steps of the counterexample, as the model says them. */
async function replay(run, folder) {
  const { output } = await runProgram('spin', ['-t', '-T', '-u50000', ...definesOf(run), 'filing.pml'], folder);
  return output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('@'))
    .map((line) => line.slice(2).replace(' | ', ': '));
}

async function checkAll(chosen, compiler) {
  const waiting = chosen.map((run, at) => ({ run, at }));
  const results = [];
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { run, at } = next;
      const found = await check(run, compiler);
      results[at] = { run, ...found, ok: found.verdict === run.expect };
      const { ok, verdict, states, seconds } = results[at];
      if (!values.json)
        process.stderr.write(`${ok ? 'ok' : 'NOT AS EXPECTED'}  ${run.name}: ${verdict}, ${states} states, ${seconds} s\n`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs) || 1) }, lane));
  return results;
}

const boundsText = ({ bounds }) =>
  Object.entries({ NE: BOUNDS.NE, ATTEMPTS: BOUNDS.ATTEMPTS, ...bounds })
    .filter(([, value]) => value !== 0)
    .map(([name, value]) => `${name.toLowerCase()} ${value}`)
    .join(', ');

function report(results, rules) {
  const head = ['', 'verdict', 'states', 'seconds', 'bounds'];
  const table = results.map(({ run, verdict, states, seconds, ok }) => [
    rules.has(run.name) ? `without: ${rules.get(run.name)}` : run.name,
    `${verdict}${ok ? '' : ' (!)'}`,
    String(states ?? ''),
    String(seconds),
    boundsText(run),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...table.map((cells) => cells[column].length)));
  const line = (cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  print(['', line(head), ...table.map(line)].join('\n'));
  for (const { run, trace, output, ok } of results) {
    if (trace.length > 0 && (values.only !== undefined || (!ok && run.expect === 'holds')))
      print(`\n${run.name}\n${trace.map((step, at) => `${String(at + 1).padStart(3)}  ${step}`).join('\n')}`);
    if (output) print(`\n${run.name}\n${output}`);
  }
}

/** @returns each rule of rules.pml with what it says. */
async function readRules() {
  const text = await readFile(join(HERE, 'rules.pml'), 'utf8');
  return new Map([...text.matchAll(/^#define (\w+) \d+ +\/\* (.*) \*\/$/gm)].map(([, name, says]) => [name, says]));
}

async function main() {
  if (values.help) return void print(HELP);
  const compiler = await findTools();
  if (!compiler) {
    process.stderr.write(INSTALL);
    process.exitCode = 2;
    return;
  }
  const rules = await readRules();
  const all = process.env.SET === 'm' ? MUTANTS : process.env.SET === 'r' ? RUNS : [...RUNS, ...GOALS, ...MUTANTS];
  const chosen = values.only === undefined ? all : all.filter(({ name }) => name.includes(values.only));
  const results = await checkAll(chosen, compiler);
  if (values.json) print(JSON.stringify(results.map(({ run, ...found }) => ({ name: run.name, ...found })), null, 2));
  else report(results, rules);
  const missing = [...rules.keys()].filter((rule) => !MUTANTS.some(({ name }) => name === rule));
  const wrong = [...results.filter(({ ok }) => !ok).map(({ run }) => run.name), ...missing.map((rule) => `${rule} has no mutant`)];
  print(wrong.length === 0 ? '\nEvery run holds, and every rule is needed.' : `\nNot as expected: ${wrong.join(', ')}`);
  if (wrong.length > 0 || chosen.length === 0) process.exitCode = 1;
}

await main();
