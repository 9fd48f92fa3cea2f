import { spawnSync, spawn } from 'node:child_process';
import { appendFile, readFile, writeFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { exportsOf, forgetExports } from '../../dev/environment';
import { followLog } from '../../dev/follow-log';
import { keepStarting, startProgram } from '../../dev/program';
import { eventually, isAlive } from '../support/processes';
import { useFolder } from '../support/folder';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { keepProcess } from '../../dev/kept-process';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimFolder } from '../../dev/claim-folder';
import { startLocal } from '../../dev/local';
import { programArguments } from '../support/command-line';

let folder: string;
let log: string;
let script: string;

useFolder((made) => (folder = made));
beforeEach(() => {
  log = join(folder, 'log');
  script = join(folder, 'program.mjs');
});

const start = (
  options: { readyWhen?: 'spawned' | 'first-line'; env?: Record<string, string>; stopWithinMs?: number } = {},
) => startProgram({ name: 'The program', command: process.execPath, args: [script], log, ...options });

it('is ready when the program has printed a line, in the environment that was given', async () => {
  await writeFile(
    script,
    `console.log(JSON.stringify({ url: process.env.URL_OF_IT })); setInterval(() => undefined, 1000);`,
  );
  const program = await start({ readyWhen: 'first-line', env: { URL_OF_IT: 'http://127.0.0.1:1' } });
  expect(JSON.parse(program.firstLine)).toEqual({ url: 'http://127.0.0.1:1' });
  await program.stop();
});

it('kills a program that will not end', async () => {
  await writeFile(
    script,
    `process.on('SIGTERM', () => undefined); console.log(process.pid); setInterval(() => undefined, 1000);`,
  );
  const program = await start({ readyWhen: 'first-line', stopWithinMs: 200 });
  const pid = Number(program.firstLine);
  expect(isAlive(pid)).toBe(true);
  await program.stop();
  expect(isAlive(pid)).toBe(false);
});

it('reports the last output of a program that exited by itself', async () => {
  await writeFile(script, `console.error('EBRC_API_KEY is missing'); process.exit(2);`);
  await expect(start({ readyWhen: 'first-line' })).rejects.toThrow(
    'The program ended with code 2: EBRC_API_KEY is missing',
  );
});

it('starts a program again that ends by itself, says so, and fails when it has ended several times in a row', async () => {
  await writeFile(script, `console.error('started with pid ' + process.pid); setInterval(() => undefined, 1000);`);
  const said: string[] = [];
  const options = { name: 'The program', command: process.execPath, args: [script], log };
  const started = await startProgram(options);
  const program = keepStarting(
    started,
    { name: 'The program', start: () => startProgram(options) },
    { log: (message) => said.push(message), pauseMs: 10 },
  );
  const pids = async () =>
    [...(await readFile(log, 'utf8')).matchAll(/with pid (\d+)/gu)].map(([, pid]) => Number(pid));
  await eventually(async () => (await pids()).length === 1);
  process.kill(Number(started.firstLine), 'SIGKILL');
  await eventually(async () => (await pids()).length === 2);
  const [, second = 0] = await pids();
  expect([isAlive(second), said]).toEqual([true, ['The program has ended; it is started again in 0.01 s …']]);
  await writeFile(script, `console.error('DATABASE_URL is missing'); process.exit(2);`);
  process.kill(second, 'SIGKILL');
  await expect(program.failed).rejects.toThrow('The program ended with code 2: ');
  await expect(program.failed).rejects.toThrow('DATABASE_URL is missing');
  expect(said).toHaveLength(5);
  await program.stop();
});

it('does not start a program again that was stopped, also in the pause', async () => {
  await writeFile(script, `console.error('once'); process.exit(2);`);
  const said: string[] = [];
  const options = { name: 'The program', command: process.execPath, args: [script], log };
  const started = await startProgram(options);
  const program = keepStarting(
    started,
    { name: 'The program', start: () => startProgram(options) },
    { log: (message) => said.push(message), pauseMs: 60_000 },
  );
  await eventually(() => said.length === 1);
  await program.stop();
  expect([said.length, await readFile(log, 'utf8')]).toEqual([1, 'once\n']);
});

it('follows a log by whole lines, wherever it is cut', async () => {
  await writeFile(log, 'of before\n');
  const lines: string[] = [];
  const following = await followLog(log, (line) => lines.push(line));
  const bytes = Buffer.from('whole\n₹ 100\n');
  await appendFile(log, bytes.subarray(0, 7));
  await eventually(() => lines.length === 1);
  await appendFile(log, bytes.subarray(7));
  await eventually(() => lines.length === 2);
  following.stop();
  expect(lines).toEqual(['whole', '₹ 100']);
});

it('hands its variables to a shell, whatever is in them, and forgets those of the last start', async () => {
  const env = { FOLDER: "/home/o'brien/$HOME", OTHER: 'kept' };
  await writeFile(script, exportsOf({ FOLDER: env.FOLDER }));
  const { stdout } = spawnSync('sh', ['-c', `. ${script} && printf %s "$FOLDER"`], { encoding: 'utf8' });
  expect(stdout).toBe(env.FOLDER);
  forgetExports(await readFile(script, 'utf8'), env);
  expect(env).toEqual({ OTHER: 'kept' });
});

const KEEP_SERVER = join(__dirname, '..', '..', 'scripts', 'keep-server.mjs');

const keeping = () => JSON.stringify({ log: join(folder, 'log') });

const keepSleep = () => ({
  script: KEEP_SERVER,
  args: [keeping(), 'sleep', '600'],
  name: 'The sleeper',
  startWithinMs: 10_000,
});

it('stops the server when it is asked to', async () => {
  const kept = await keepProcess(keepSleep());
  const server = Number(kept.firstLine);
  expect(isAlive(server)).toBe(true);
  await kept.stop();
  expect([isAlive(server), isAlive(kept.pid), await kept.exited]).toEqual([false, false, 0]);
});

it('stops the server when the process that started it is killed', async () => {
  const parent = join(folder, 'parent.mjs');
  await writeFile(
    parent,
    `import { spawn } from 'node:child_process';
     const child = spawn(process.execPath, ${JSON.stringify([KEEP_SERVER, keeping(), 'sleep', '600'])}, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
     child.stdout.pipe(process.stdout);`,
  );
  const child = spawn(process.execPath, [parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const server = Number(line);
  expect(isAlive(server)).toBe(true);
  child.kill('SIGKILL');
  await eventually(() => !isAlive(server));
});

it('gives up on a process that prints nothing, and leaves none behind', async () => {
  const script = join(folder, 'silent.mjs');
  await writeFile(script, `process.stdin.resume(); process.stdin.on('end', () => process.exit(0));`);
  const starting = keepProcess({ script, args: [], name: 'The silent one', startWithinMs: 200 });
  await expect(starting).rejects.toThrow('The silent one did not answer within 0.2 s');
});

it('fails with what a process printed when it ends by itself', async () => {
  const script = join(folder, 'failing.mjs');
  await writeFile(script, `console.error('the disk is full'); process.exit(3);`);
  const starting = keepProcess({ script, args: [], name: 'The failing one', startWithinMs: 10_000 });
  await expect(starting).rejects.toThrow('The failing one ended with code 3: the disk is full');
});

const startAll = () =>
  startLocal({ keep: false, folder, sandbox: { activationDelay: '1s', ackDelay: '1s' }, log: () => undefined });

it('refuses a second run in a folder, and leaves its data alone, until the first has ended', async () => {
  await writeFile(join(folder, 'data'), 'of the first run');
  const first = await claimFolder(folder);
  await expect(startAll()).rejects.toThrow(/Another run uses .* Stop that one first/);
  expect(await readdir(folder)).toEqual(['data']);
  await first.stop();
  await (await claimFolder(folder)).stop();
});

it('lets one of several take over from a run that was killed', async () => {
  const program = join(folder, 'claim.ts');
  const source = join(__dirname, '..', '..', 'dev', 'claim-folder');
  await writeFile(
    program,
    `import { claimFolder } from ${JSON.stringify(source)};
     void claimFolder(${JSON.stringify(folder)}).then(() => { console.log('claimed'); setInterval(() => undefined, 1000); });`,
  );
  const [hook, loader] = programArguments('');
  const child = spawn(process.execPath, [hook ?? '', loader ?? '', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(createInterface({ input: child.stdout }), 'line');
  await expect(claimFolder(folder)).rejects.toThrow(/Another run/);
  child.kill('SIGKILL');
  await once(child, 'close');
  const claims = await Promise.allSettled(
    Array.from({ length: 20 }, (_unused, nth) => sleep(nth / 4).then(() => claimFolder(folder))),
  );
  const taken = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
  expect(taken).toHaveLength(1);
  await taken[0]?.stop();
});
