import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowBundle } from '../support/workflow-bundle';
import { ROOT } from './project';

/** Folders of src that never get into the workflow sandbox, with what they would do there. */
const KEPT_OUT =
  'activities api ledger documents workbook codec reports starter sandbox budget config worker telemetry'.split(' ');

/** The bundler prints its whole report where a test wants it to fail. */
const silent = new DefaultLogger('ERROR', () => undefined);

/** The modules that a bundle holds, as paths relative to the project; a module of Node itself is `external <name>`. */
function modulesIn(code: string): string[] {
  const modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)":?$/gm)].map(([, name]) => name ?? '');
  return [...modules, ...[...code.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => `external ${name}`)];
}

const modulesOf = async (workflowsPath: string): Promise<string[]> =>
  modulesIn((await bundleWorkflowCode({ workflowsPath, logger: silent })).code);

/** The modules of what workers run. */
const modulesOfWorker = async (options: { traced: boolean }): Promise<string[]> =>
  modulesIn(await readFile((await workflowBundle(options)).codePath, 'utf8'));

/** What must not be among them. */
function intruders(modules: string[]): string[] {
  const ours = new RegExp(`^\\./src/(${KEPT_OUT.join('|')})/|^\\./src/[^/]+\\.ts$`);
  return modules.filter((module) => ours.test(module) || isBuiltin(module.replace(/^external /, '')));
}

it('holds workflows, domain and pure libraries alone', async () => {
  const modules = await modulesOfWorker({ traced: false });
  expect(modules.filter((module) => module.startsWith('./src/workflows/')).length).toBeGreaterThan(3);
  expect(modules.filter((module) => module.startsWith('./src/domain/')).length).toBeGreaterThan(0);
  expect(intruders(modules)).toEqual([]);
  expect(modules.filter((module) => module.includes('opentelemetry'))).toEqual([]);
});

it('holds the interceptors of traces where a worker is traced', async () => {
  const modules = await modulesOfWorker({ traced: true });
  expect(intruders(modules)).toEqual(['./src/telemetry/workflow-interceptors.ts']);
});

describe('a workflow that breaks the rule', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(ROOT, 'test', 'boundary', '.bundle-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  it.each([
    ['a module of Node', `import { readFileSync } from 'node:fs';\nexport const f = async () => readFileSync('/x');`],
    [
      'the driver of the database',
      `import { createPool } from '../../../src/ledger/pool';\nexport const f = async () => createPool;`,
    ],
  ])(
    'is refused by the bundler: %s',
    async (_, text) => {
      await writeFile(join(folder, 'workflow.ts'), text);
      await expect(modulesOf(join(folder, 'workflow.ts'))).rejects.toThrow();
    },
    120_000,
  );
});
