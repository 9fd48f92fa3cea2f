import { spawnSync } from 'node:child_process';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportsOf, forgetExports } from '../../dev/environment';
import { followLog } from '../../dev/follow-log';
import { keepStarting, startProgram } from '../../dev/program';
import { eventually, isAlive } from '../support/processes';
import { useFolder } from '../support/folder';

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

it('lets a program end in order, and keeps what it printed', async () => {
  await writeFile(
    script,
    `process.on('SIGTERM', () => { console.log('ended in order'); process.exit(0); });
     console.log('started');
     setInterval(() => undefined, 1000);`,
  );
  const program = await start();
  // Its handler is set when it has printed.
  while (!(await readFile(log, 'utf8')).includes('started')) await new Promise((resolve) => setTimeout(resolve, 20));
  await program.stop();
  expect([isAlive(Number(program.firstLine)), await readFile(log, 'utf8')]).toEqual([
    false,
    'started\nended in order\n',
  ]);
});

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

it('reports a program that exits later', async () => {
  await writeFile(script, `setTimeout(() => { console.error('out of memory'); process.exit(3); }, 300);`);
  const program = await start();
  await expect(program.failed).rejects.toThrow('The program ended with code 3: out of memory');
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
