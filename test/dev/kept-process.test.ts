import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { keepProcess } from '../../dev/kept-process';
import { eventually, isAlive } from '../support/processes';
import { useFolder } from '../support/folder';

const KEEP_SERVER = join(__dirname, '..', '..', 'scripts', 'keep-server.mjs');

let folder: string;

useFolder((made) => (folder = made));

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

it('fails with what a process printed when it ends by itself', async () => {
  const script = join(folder, 'failing.mjs');
  await writeFile(script, `console.error('the disk is full'); process.exit(3);`);
  const starting = keepProcess({ script, args: [], name: 'The failing one', startWithinMs: 10_000 });
  await expect(starting).rejects.toThrow('The failing one ended with code 3: the disk is full');
});

it('gives up on a process that prints nothing, and leaves none behind', async () => {
  const script = join(folder, 'silent.mjs');
  await writeFile(script, `process.stdin.resume(); process.stdin.on('end', () => process.exit(0));`);
  const starting = keepProcess({ script, args: [], name: 'The silent one', startWithinMs: 200 });
  await expect(starting).rejects.toThrow('The silent one did not answer within 0.2 s');
});
