// `npm run histories:record -- --scenario file-certified`: runs scenarios on the real worker and stores their histories
// for the replay tests (test/replay/README.md). Installs the servers first, as the tests do.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const RECORD = ['-r', join(ROOT, 'scripts', 'typescript.cjs'), join(ROOT, 'test', 'replay', 'record.ts')];

function run(args) {
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

run([join(ROOT, 'scripts', 'bootstrap.mjs'), 'temporal', 'test-server']);
run([...RECORD, ...process.argv.slice(2)]);
