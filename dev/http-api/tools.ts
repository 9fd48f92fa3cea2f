/** Programs of other package registries that try the HTTP API: installed into .state/ when they are first used. */
import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';

export const STATE = join(__dirname, '..', '..', '.state');

export const say = (text: string) => process.stdout.write(`• ${text}\n`);

/** @returns its exit code */
export function run(command: string, args: readonly string[], cwd?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', reject).once('close', (code) => resolve(code ?? 1));
  });
}

/** Where a program of a PyPI package is; null, with the reason said, where it cannot be installed. */
export async function toolOfPyPI(requirement: string, name: string): Promise<string | null> {
  const venv = join(STATE, requirement.replace('==', '-'));
  const program = join(venv, 'bin', name);
  const isThere = await access(program).then(
    () => true,
    () => false,
  );
  if (isThere) return program;
  const made = await run('python3', ['-m', 'venv', venv]).catch(() => null);
  if (made !== 0) {
    say('skipped: it needs Python 3.10 or newer, with venv, as python3');
    return null;
  }
  const pip = join(venv, 'bin', 'pip');
  const installed = await run(pip, ['install', '--quiet', '--disable-pip-version-check', requirement]);
  if (installed === 0) return program;
  say(`skipped: ${requirement} cannot be installed from PyPI`);
  return null;
}

/** Ends this process with the exit code of `work`. */
export function runTool(work: () => Promise<number>): void {
  work().then(
    (code) => process.exit(code),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
