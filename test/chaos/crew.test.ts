import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCrew, type Crew } from '../../chaos/crew';
import { eventually } from '../support/processes';

let folder: string;
let crew: Crew;

/** A crew of one, whose worker does as told and then says that it started. */
async function crewOf(script: string): Promise<Crew> {
  const program = join(folder, 'worker.mjs');
  await writeFile(program, `${script}\nconsole.log('{"msg":"worker started"}');`);
  crew = await startCrew({ size: 1, env: {}, folder, program });
  return crew;
}

/** Waits until the worker has said for the nth time that it started. */
const started = (nth: number) =>
  eventually(async () => (await readFile(join(folder, 'worker-1.log'), 'utf8')).split('worker started').length > nth);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ebrc-crew-'));
});
afterEach(async () => {
  await crew.stop();
  await rm(folder, { recursive: true, force: true });
});

it('tells of a worker that ended by itself, also in good order, and starts it again', async () => {
  const { problems } = await crewOf(`setTimeout(() => (console.log('no more'), process.exit(0)), 300);`);
  await eventually(() => problems.length >= 2);
  expect(problems[0]).toBe('worker 1 ended by itself: no more');
});

it('tells of a worker that did not stop in order, and of none that did or was killed', async () => {
  const { problems, ...crewed } = await crewOf(
    `setInterval(() => undefined, 1000);
     process.once('SIGTERM', () => { console.log('{"msg":"worker stopped"}'); process.exit(0); });`,
  );
  await started(1);
  await crewed.restart(0, 'SIGTERM');
  await started(2);
  await crewed.restart(0, 'SIGKILL');
  expect(problems).toEqual([]);
});

it('tells of a worker that had to be ended', async () => {
  const { problems, ...crewed } = await crewOf(`setInterval(() => undefined, 1000);`);
  await started(1);
  await crewed.restart(0, 'SIGTERM');
  expect(problems).toEqual(['worker 1 did not stop in order']);
});

it('puts workers of another build in the place of the old ones, which stop when it is current', async () => {
  const { problems, ...crewed } = await crewOf(
    `console.log('build ' + process.env.BUILD);
     setInterval(() => undefined, 1000);
     process.once('SIGTERM', () => { console.log('{"msg":"worker stopped"}'); process.exit(0); });`,
  );
  await started(1);
  const logOf = (name: string) => readFile(join(folder, name), 'utf8');
  await crewed.replaceAll({ BUILD: 'two' }, async () => {
    await eventually(async () => (await logOf('worker-1-2.log')).includes('worker started'));
    expect(await logOf('worker-1.log')).not.toContain('worker stopped');
  });
  expect(await logOf('worker-1.log')).toContain('worker stopped');
  expect(await logOf('worker-1-2.log')).toContain('build two');
  expect(problems).toEqual([]);
});

it('has no worker while something is put back', async () => {
  const { problems, ...crewed } = await crewOf(
    `setInterval(() => undefined, 1000);
     process.once('SIGTERM', () => { console.log('{"msg":"worker stopped"}'); process.exit(0); });`,
  );
  await started(1);
  await crewed.away(async () => {
    expect((await readFile(join(folder, 'worker-1.log'), 'utf8')).trimEnd()).toMatch(/worker stopped"\}$/);
  });
  await started(2);
  expect(problems).toEqual([]);
});
