import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rename, writeFile, access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { bundleParts } from '../../src/worker/workflows-bundle';

const ROOT = join(__dirname, '..', '..');
const FOLDER = join(tmpdir(), 'ebrc-test-bundles');

const bundles = new Map<boolean, Promise<{ codePath: string }>>();

/** The workflow bundle of the sources as they are now; built once and kept on disk under a hash of them. */
export function workflowBundle({ traced = false } = {}): Promise<{ codePath: string }> {
  const bundle = bundles.get(traced) ?? build(traced);
  bundles.set(traced, bundle);
  return bundle;
}

async function build(traced: boolean): Promise<{ codePath: string }> {
  const codePath = join(FOLDER, `${await hashOfSources()}${traced ? '-traced' : ''}.js`);
  const known = await access(codePath).then(
    () => true,
    () => false,
  );
  if (known) return { codePath };
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(ROOT, 'src', 'workflows', 'index.ts'),
    logger: new DefaultLogger('ERROR'),
    ...bundleParts({ encrypted: false, traced }),
  });
  await mkdir(FOLDER, { recursive: true });
  // Renamed into place: another test process may be looking for it.
  const temporary = `${codePath}.${process.pid}`;
  await writeFile(temporary, code);
  await rename(temporary, codePath);
  return { codePath };
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['src/workflows', 'src/domain']) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.sort())
      hash
        .update(relative(ROOT, file))
        .update('\0')
        .update(await readFile(file));
  }
  hash.update(await readFile(join(ROOT, 'package-lock.json')));
  return hash.digest('hex').slice(0, 32);
}

if (require.main === module) void workflowBundle();
