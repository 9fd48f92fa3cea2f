import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rename, writeFile, access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const ROOT = join(__dirname, '..', '..');
const FOLDER = join(tmpdir(), 'ebrc-test-bundles');

let bundle: Promise<{ codePath: string }> | undefined;

/** The workflow bundle of the sources as they are now; built once and kept on disk under a hash of them. */
export function workflowBundle(): Promise<{ codePath: string }> {
  return (bundle ??= build());
}

async function build(): Promise<{ codePath: string }> {
  const codePath = join(FOLDER, `${await hashOfSources()}.js`);
  const known = await access(codePath).then(
    () => true,
    () => false,
  );
  if (known) return { codePath };
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(ROOT, 'src', 'workflows', 'index.ts'),
    logger: new DefaultLogger('ERROR'),
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
