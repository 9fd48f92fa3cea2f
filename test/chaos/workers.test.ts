import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorkers, type Workers } from '../../chaos/workers';
import { useFolder } from '../support/folder';
import { eventually } from '../support/processes';

let folder: string;
useFolder((made) => (folder = made));
let workers: Workers;

/** One worker process, whose worker does as told and then says that it started. */
async function oneWorker(script: string): Promise<Workers> {
  const program = join(folder, 'worker.mjs');
  await writeFile(program, `${script}\nconsole.log('{"msg":"worker started"}');`);
  workers = await startWorkers({ size: 1, env: {}, folder, program });
  return workers;
}

/** Waits until the worker has said for the nth time that it started. */
const started = (nth: number) =>
  eventually(async () => (await readFile(join(folder, 'worker-1.log'), 'utf8')).split('worker started').length > nth);

afterEach(() => workers.stop());

it('reports a worker that exited unexpectedly, even with code 0, and starts it again', async () => {
  const { problems } = await oneWorker(`setTimeout(() => (console.log('no more'), process.exit(0)), 300);`);
  await eventually(() => problems.length >= 2);
  expect(problems[0]).toBe('worker 1 exited unexpectedly: no more');
});

it('reports a worker that cannot be started again', async () => {
  const { problems } = await oneWorker(
    `import { rmSync } from 'node:fs';
     setTimeout(() => (rmSync(${JSON.stringify(folder)}, { recursive: true }), process.exit(0)), 300);`,
  );
  await eventually(() => problems.length >= 2);
  expect(problems[1]).toMatch(/^worker 1 could not be started again: /);
});

it('reports a worker that had to be killed', async () => {
  const { problems, ...running } = await oneWorker(`setInterval(() => undefined, 1000);`);
  await started(1);
  await running.restart(0, 'SIGTERM');
  expect(problems).toEqual(['worker 1 did not shut down cleanly']);
});
