import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(__dirname, '..', '..');

/** Paths of the built programs, built first where a source has changed since. */
export async function builtPackage(): Promise<{ worker: string; commandLine: string }> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts', 'build.mjs'), '--when-changed'], {
    timeout: 240_000,
  });
  return { worker: join(ROOT, 'dist', 'worker.js'), commandLine: join(ROOT, 'dist', 'starter', 'cli.js') };
}
