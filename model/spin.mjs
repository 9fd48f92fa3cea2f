/** Spin: finding it, building a verifier from the model, running it, and replaying what it found. */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { definesOfGates } from './gates-runs.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
/** The submit protocol, where a run does not name another model. */
const modelOf = ({ model = 'submit-protocol.pml' }) => model;

export const INSTALL = `The model is checked with Spin and a C compiler:
  Debian, Ubuntu   sudo apt-get install -y spin gcc
  macOS            brew install spin
`;

/**
 * Runs a program to its end. @returns its exit code and everything that it printed. Rejects where it cannot be started.
 */
export function runProgram(command, args, cwd) {
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
export async function findTools() {
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

/** The model's switches for a run. */
export function definesOf(run) {
  if (run.model === 'gates.pml') return definesOfGates(run);
  const { executions, attempts, operators, repeats, restores, permitted, liveness, defines } = run;
  return [
    `-DNE=${executions}`,
    `-DATTEMPTS0=${attempts[0]}`,
    `-DATTEMPTS1=${attempts[1]}`,
    `-DOPS=${operators}`,
    `-DREPEATS=${repeats}`,
    `-DRESTORES=${restores}`,
    `-DPERMITTED=${permitted ?? 0}`,
    ...(liveness ? ['-DLIVENESS', '-DCRASHES'] : []),
    ...defines.map((name) => `-D${name}`),
  ];
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-model-'));
  try {
    await cp(HERE, folder, { recursive: true, filter: (file) => file === HERE || file.endsWith('.pml') });
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Builds the verifier `pan` of a model. Throws where Spin cannot read all of it: from a formula that it cannot read it
 * still makes a verifier, one that checks something else.
 */
async function build(folder, compiler, { defines, model, options }) {
  const generated = await runProgram('spin', ['-a', ...defines, model], folder);
  if (generated.code !== 0) throw new Error(`Spin cannot read ${model}:\n${generated.output}`);
  const compiled = await runProgram(compiler, ['-w', '-DNOREDUCE', ...options, '-o', 'pan', 'pan.c'], folder);
  if (compiled.code !== 0) throw new Error(`The verifier does not compile:\n${compiled.output}`);
}

/** What is put into the model for the list of steps: see steps.pml. */
const withSteps = (text) =>
  text
    .replace(/:: atomic \{ (.*?) ->/g, ':: atomic { $1 -> BEFORE;')
    // What a restore does to a filing is no step of it.
    .replace('putBack(); copied = 2;', 'putBack(); BEFORE; copied = 2;');

/**
 * Every step of the model that changes a filing, as the numbers that steps.pml prints. Throws where not all states were
 * visited.
 */
export function listSteps(run, compiler) {
  return inFolder(async (folder) => {
    const main = join(folder, modelOf(run));
    await writeFile(main, withSteps(await readFile(main, 'utf8')));
    const options = ['-O2', '-DSAFETY', `-DMEMLIM=${run.memoryMb}`];
    await build(folder, compiler, { defines: ['-DSTEPS', ...definesOf(run)], model: modelOf(run), options });
    const { output } = await runProgram('./pan', ['-n', '-m5000000', '-E'], folder);
    if (!/errors: 0/.test(output) || /(max search depth too small|out of memory|Search not completed)/.test(output))
      throw new Error(`The search of ${run.name} did not visit every state:\n${output}`);
    return [...output.matchAll(/^@step (.*)$/gm)].map(([, numbers]) => numbers.split(' ').map(Number));
  });
}

const number = (output, pattern) => {
  const found = pattern.exec(output);
  return found ? Number(found[1]) : null;
};

/** Optimising a verifier takes longer than a short search. */
const optimisation = ({ model, expect, guard }) =>
  model === 'gates.pml' || expect === 'breaks' || guard !== undefined ? '-O0' : '-O2';

/**
 * Checks one run. Every state is visited and stored whole (no bitstate, no hash-compact): a verdict of `holds` is
 * exhaustive within the bounds. `shortest` searches breadth first, so that a counterexample is a shortest one.
 */
export function check(run, compiler, { shortest = false } = {}) {
  return inFolder(async (folder) => {
    // What is to be replayed is built with the states printed: a replay must have the same statements as its search.
    const defines = [...definesOf(run), ...(run.expect === 'breaks' ? ['-DTRACES'] : [])];
    const options = [optimisation(run), `-DMEMLIM=${run.memoryMb}`];
    if (run.liveness) options.push('-DNFAIR=3');
    else options.push('-DSAFETY', ...(shortest ? ['-DBFS'] : []));
    await build(folder, compiler, { defines, model: modelOf(run), options });
    const started = Date.now();
    const depth = shortest ? [] : [`-m${run.depthLimit ?? 5000000}`];
    const { output } = await runProgram('./pan', ['-n', ...depth, ...(run.liveness ? ['-a', '-f'] : ['-E'])], folder);
    const errors = number(output, /errors: (\d+)/);
    // A search that ran out of memory or depth is not exhaustive, whatever it found until then.
    const complete =
      errors !== null && !/(max search depth too small|out of memory|aborted|Search not completed)/.test(output);
    const verdict = errors ? 'breaks' : complete ? 'holds' : 'incomplete';
    return {
      verdict,
      states: number(output, /([\d.e+]+) states, stored/),
      depth: number(output, /depth reached (\d+)/),
      seconds: Math.round((Date.now() - started) / 100) / 10,
      memoryMb: number(output, /([\d.]+)\s+total actual memory/),
      trace: verdict === 'breaks' ? await replay(folder, [...defines, modelOf(run)]) : [],
      ...(verdict === 'incomplete' ? { output } : {}),
    };
  });
}

async function replay(folder, args) {
  const { output } = await runProgram('spin', ['-t', '-T', '-u50000', ...args], folder);
  return lines(output);
}

/** A walk through the model that chooses at random, the same for the same seed. */
export function walk(run, seed) {
  return inFolder(async (folder) => {
    const { output } = await runProgram(
      'spin',
      [
        `-n${seed}`,
        '-T',
        `-u${run.model === 'gates.pml' ? 2_500 : 50_000}`,
        '-DTRACES',
        ...definesOf(run),
        modelOf(run),
      ],
      folder,
    );
    return lines(output);
  });
}

const lines = (output) =>
  output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('@'));
