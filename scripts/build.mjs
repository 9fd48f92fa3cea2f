// Builds dist/. With --when-changed only if a source is newer than the last successful build: demo, development stack
// and end-to-end tests run the same programs as a deployment, and must not run old ones.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const STAMP = join(ROOT, 'dist', '.built');
const INPUTS = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const SOURCES = ['src', 'sandbox'];

function modified(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestSource() {
  const sources = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(ROOT, folder, name)),
  );
  return Math.max(...[...sources, ...INPUTS.map((name) => join(ROOT, name))].map(modified));
}

function run(what, args) {
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  process.stderr.write(`• ${what} failed\n`);
  process.exit(1);
}

if (!process.argv.includes('--when-changed') || modified(STAMP) < newestSource()) {
  const began = new Date();
  process.stderr.write('• building …\n');
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript-7/package.json')), 'bin', 'tsc');
  // The sandbox first: `ebrc sandbox` is compiled against its types.
  run('the compiler', [tsc, '-p', 'sandbox/tsconfig.json']);
  run('the compiler', [tsc, '-p', 'tsconfig.build.json']);
  run('the workflow bundle', [join(ROOT, 'dist', 'worker', 'workflows-bundle.js')]);
  writeFileSync(STAMP, '');
  // A source that was saved meanwhile is newer than this build.
  utimesSync(STAMP, began, began);
  process.stderr.write(`• built in ${((Date.now() - began) / 1_000).toFixed(1)} s\n`);
}
