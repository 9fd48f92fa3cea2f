// `npm run model`: checks the model of the filing core, and shows that each of its rules is needed.
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
  MUTANT: 0,
  ALSO: 0,
  GOAL: 0,
};

/** Every run must hold; a rule is taken away in the bounds of one of them. */
const RUNS = {
  'two attempts': [{ LIES: 1, PARTS: 1, USES: 1 }, 'one person may be wrong, and a reading may have only a part'],
  late: [{ LIES: 1, LATE: 1 }, 'a certificate shows after the settle time'],
  words: [{ LIES: 1, LATE: 1, WORDS: 1 }, 'refusals, and words like "duplicate"'],
  'words that do not stay': [{ WORDS: 1, ERRED_FIRST: 1 }, 'and Errored for what becomes a certificate'],
  clocks: [{ LIES: 1, JUMPS: 1 }, 'clock, beats or settings run ahead'],
  approvals: [{ NE: 1, ATTEMPTS: 1, APPROVALS: 1 }, 'the filing is approved or abandoned'],
  foreign: [
    { NE: 1, ATTEMPTS: 1, LIES: 1, FOREIGNERS: 1, ELSEWHERE: 1, PARTS: 1, USES: 1 },
    'certificates of another IRM, and another use of this one',
  ],
  'foreign and late': [{ LIES: 1, LATE: 1, FOREIGNERS: 1 }, 'certificates of another IRM, and one that shows late'],
  correction: [
    { ATTEMPTS: 1, CORRECTION: 1, LIES: 1, LATE: 1, ERRED_FIRST: 1 },
    'the freed row is filed again, and an Errored does not stay',
  ],
  'correction, words': [{ ATTEMPTS: 1, CORRECTION: 1, LIES: 1, LATE: 1, WORDS: 1 }, 'after a refusal'],
  'correction, ids': [{ ATTEMPTS: 1, CORRECTION: 1, OTHER_IDS: 1 }, 'an answer with the id of another request'],
  'correction, three sends': [{ NE: 3, ATTEMPTS: 1, CORRECTION: 1 }, 'of two filings'],
  hands: [{ ATTEMPTS: 1, CORRECTION: 1, LIES: 1, HANDS: 1 }, 'somebody files by hand'],
  'hands and foreign': [
    { NE: 1, ATTEMPTS: 1, LIES: 1, HANDS: 1, FOREIGNERS: 1, PARTS: 1 },
    'certificates of somebody and of another IRM, before it is sent',
  ],
  unlike: [{ HANDS: 1, UNLIKE: 1 }, 'certificates that agree in the document alone'],
  'unlike foreign': [
    { NE: 1, ATTEMPTS: 1, FOREIGNERS: 1, UNLIKE: 2, USES: 1 },
    'a certificate of another IRM agrees in the document alone',
  ],
  'fail-over': [{ LIES: 1, BACK: 1, RESETS: 1 }, 'the ledger loses seconds'],
  'fail-over, later': [{ NE: 3, BACK: 1, LOST: 1 }, 'after a first attempt'],
  restore: [{ ATTEMPTS: 1, CORRECTION: 1, BACK: 2, RESETS: 1 }, 'the ledger is restored, perhaps without the filing'],
  'restore, two attempts': [{ BACK: 2, RESETS: 1 }, 'the ledger is restored'],
  'restore, balances': [
    { ATTEMPTS: 1, BACK: 2, RESETS: 1, USES: 1 },
    'what was taken may show as a use of the balance alone',
  ],
  snapshot: [{ ATTEMPTS: 1, BACK: 3, RESETS: 1 }, 'the disk is brought back'],
};

/** What must be reachable: a run that holds because nothing happens says nothing. */
const GOALS = [
  ['a certificate is adopted', 'two attempts'],
  ['a freed row is held again for its certificate', 'correction'],
  ['a second attempt is sent', 'two attempts'],
  ['a correction is sent', 'correction'],
  ['a late answer is stored', 'late'],
  ['two persons let a send go', 'hands and foreign'],
];

/** Each rule of rules.pml: the run in whose bounds a promise breaks without it, and a rule that would hold in its place. */
const NEEDED = {
  NOT_ENDED: ['approvals', 'ROWS_PLANNED'],
  ROWS_PLANNED: ['two attempts', 'ONE_IN_DOUBT'],
  ONE_IN_DOUBT: ['two attempts', 'ROWS_PLANNED'],
  APPROVED: ['approvals'],
  NOBODY_ELSE: ['correction', 'STOPS_PLANNED'],
  NEW_NUMBER: ['two attempts'],
  SAME_EPOCH: ['fail-over'],
  BEAT_IS_KNOWN: ['snapshot'],
  NOT_RECOVERING: ['restore'],
  READ_WITHIN_HOUR: ['hands and foreign'],
  READ_SINCE_FREED: ['correction'],
  READ_WHOLE: ['hands and foreign'],
  EQUAL_STANDS: ['hands and foreign'],
  AGREEING_STANDS: ['unlike'],
  TWO_LET_GO: ['hands and foreign'],
  UNREAD_FOR_AN_HOUR: ['hands and foreign'],
  ONLY_WHAT_WAS_SHOWN: ['hands and foreign'],
  WRITE_IN_TIME: ['two attempts'],
  CUT_IS_UNKNOWN: ['two attempts'],
  OWN_MARK_ALONE: ['two attempts'],
  DUPLICATE_IS_UNKNOWN: ['words'],
  REFUSED_AFTER_NOT_FILED: ['words'],
  LATE_ACCEPTANCE: ['late'],
  LATE_BESIDE_ANOTHER: ['late'],
  STORED_REQUEST_COUNTS: ['late'],
  STOPS_PLANNED: ['correction', 'NOBODY_ELSE'],
  LATE_WORDS: ['words'],
  ID_OF_ANOTHER: ['correction, ids'],
  ADOPT_AFTER_WINDOW: ['foreign'],
  ADOPT_WHOLE: ['foreign'],
  ADOPT_FALL_EXACT: ['foreign'],
  ADOPT_NOTHING_ELSE: ['foreign'],
  ADOPT_NONE_ON_ITS_WAY: ['foreign'],
  ADOPT_AS_MANY: ['foreign'],
  ADOPT_NEW: ['foreign'],
  ADOPT_EQUAL: ['unlike foreign'],
  TWO_NAME: ['foreign'],
  NOT_FILED_WINDOW: ['two attempts'],
  NOT_FILED_READING: ['two attempts'],
  TWO_AGAINST_EVIDENCE: ['two attempts'],
  SHOWN_TO_BOTH: ['foreign and late'],
  EVIDENCE_CERTIFICATES: ['two attempts'],
  EVIDENCE_FALL: ['two attempts'],
  EVIDENCE_UNREAD: ['two attempts'],
  EVIDENCE_REQUEST: ['late'],
  EVIDENCE_WORDS: ['words'],
  DENIAL_WINDOW: ['two attempts'],
  CLOCK_AND_BEATS: ['clocks'],
  BEATS_AND_CLOCK: ['clocks'],
  LONGER_WINDOW: ['clocks'],
  ERRED_AFTER_NOT_FILED: ['late'],
  ERRED_DUPLICATE: ['words that do not stay'],
  ERRED_OWN_REQUEST: ['hands'],
  LATE_CERTIFICATE: ['correction'],
  TOLD_REMEMBERED: ['fail-over'],
  TOLD_EPOCH: ['fail-over'],
  TOLD_BEAT: ['snapshot'],
  BEATS_HAVE_NAMES: ['snapshot'],
  FINDING_STICKS: ['fail-over, later'],
  ANOTHER_RUN: ['fail-over'],
  ANOTHER_RUN_STICKS: ['fail-over'],
  RESET_IS_ANOTHER: ['fail-over'],
  WORKERS_SEE_BEATS: ['snapshot'],
  READ_AFTER_RESTORE: ['restore'],
  OPEN_IS_UNKNOWN: ['restore, balances', 'ANOTHER_RUN'],
  RECORDED_AGAIN_UNKNOWN: ['restore, balances', 'TOLD_REMEMBERED'],
  ANSWER_IS_FINDING: ['fail-over'],
};

/**
 * Rules whose absence alone breaks nothing in these bounds, since the named one holds in their place. With both away a promise
 * breaks: see NEEDED, but for the last, without which words are evidence that two persons have to be shown all the same.
 */
const DOUBLED = {
  NOT_ENDED: ['approvals', 'ROWS_PLANNED'],
  ROWS_PLANNED: ['two attempts', 'ONE_IN_DOUBT'],
  ONE_IN_DOUBT: ['two attempts', 'ROWS_PLANNED'],
  NOBODY_ELSE: ['correction', 'STOPS_PLANNED'],
  STOPS_PLANNED: ['correction', 'NOBODY_ELSE'],
  OPEN_IS_UNKNOWN: ['restore, balances', 'ANOTHER_RUN'],
  RECORDED_AGAIN_UNKNOWN: ['restore, balances', 'TOLD_REMEMBERED'],
  WORDS_END_IT: ['words', 'EVIDENCE_WORDS'],
};

const CHECKS = [
  ...Object.entries(RUNS).map(([name, [bounds]]) => ({ name, expect: 'holds', bounds })),
  ...GOALS.map(([summary, run], at) => ({
    name: `reach: ${summary}`,
    expect: 'met',
    bounds: RUNS[run][0],
    switches: { GOAL: at + 1 },
  })),
  ...Object.entries(NEEDED).map(([name, [run, also]]) => ({
    name,
    also,
    expect: 'breaks',
    bounds: RUNS[run][0],
    switches: { MUTANT: name, ALSO: also ?? 0 },
  })),
  ...Object.entries(DOUBLED).map(([name, [run, other]]) => ({
    name: `without ${name} alone, which ${other} doubles`,
    expect: 'holds',
    bounds: RUNS[run][0],
    switches: { MUTANT: name },
  })),
];

const HELP = `npm run model -- [options]

Checks the model of the filing core: every run must hold, and without any one of its rules a promise must break.

  --only TEXT       only runs and rules whose name contains TEXT; with what happens, step by step
  --expect VERDICT  only what is to hold (holds), to be met (met), or to break without a rule (breaks)
  --jobs N          checks at the same time (default: 2)
  --json            the result as JSON
  --help

Runs:
${Object.entries(RUNS)
  .map(([name, [, summary]]) => `  ${name.padEnd(24)} ${summary}`)
  .join('\n')}
`;

const INSTALL = `The model is checked with Spin and a C compiler:
  Debian, Ubuntu   sudo apt-get install -y spin gcc
  macOS            brew install spin
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    expect: { type: 'string' },
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

const definesOf = ({ bounds, switches = {} }) =>
  Object.entries({ ...BOUNDS, ...bounds, ...switches }).map(([name, value]) => `-D${name}=${value}`);

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
    const complete =
      errors !== null && !/(max search depth too small|out of memory|aborted|Search not completed)/.test(output);
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
        process.stderr.write(
          `${ok ? 'ok' : 'NOT AS EXPECTED'}  ${run.name}: ${verdict}, ${states} states, ${seconds} s\n`,
        );
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
  const head = ['', 'verdict', 'states', 'seconds', 'bounds', ''];
  const table = results.map(({ run, verdict, states, seconds, ok }) => [
    rules.has(run.name) ? `${run.name}${run.also ? ` and ${run.also}` : ''}` : run.name,
    `${verdict}${ok ? '' : ' (!)'}`,
    String(states ?? ''),
    String(seconds),
    boundsText(run),
    rules.get(run.name) ?? RUNS[run.name]?.[1] ?? '',
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
  const chosen = CHECKS.filter(
    ({ name, expect }) =>
      (values.only === undefined || name.includes(values.only)) &&
      (values.expect === undefined || expect === values.expect),
  );
  const results = await checkAll(chosen, compiler);
  if (values.json)
    print(
      JSON.stringify(
        results.map(({ run, ...found }) => ({ name: run.name, ...found })),
        null,
        2,
      ),
    );
  else report(results, rules);
  const missing = [...rules.keys()].filter((rule) => !(rule in NEEDED) && !(rule in DOUBLED));
  const wrong = [
    ...results.filter(({ ok }) => !ok).map(({ run }) => run.name),
    ...missing.map((rule) => `${rule} has no mutant`),
  ];
  print(wrong.length === 0 ? '\nEvery run holds, and every rule is needed.' : `\nNot as expected: ${wrong.join(', ')}`);
  if (wrong.length > 0 || chosen.length === 0) process.exitCode = 1;
}

await main();
