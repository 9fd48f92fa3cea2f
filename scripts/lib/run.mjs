import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { onExit } from './cleanup.mjs';

/**
 * Runs a program and returns its standard output. Rejects with the end of its error output if its exit code is not 0,
 * if it does not exist, or if it takes longer than `withinMs`. `onLine` gets each line of its error output.
 */
export function run(command, args, { cwd, env, input, withinMs = 30_000, onLine } = {}) {
  return new Promise((resolve, reject) => {
    const stdin = input === undefined ? 'ignore' : 'pipe';
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: [stdin, 'pipe', 'pipe'] });
    child.stdin?.end(input);
    const cancel = onExit(() => child.kill('SIGTERM'));
    let output = '';
    let errors = '';
    let line = '';
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${command} did not end within ${Math.round(withinMs / 1000)} s`));
    }, withinMs);
    // Decoded as a whole: a character may be cut between two pieces.
    child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      errors = (errors + chunk).slice(-4_000);
      const lines = (line + chunk).split('\n');
      line = lines.pop() ?? '';
      if (onLine) lines.forEach((each) => onLine(each));
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      cancel();
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      cancel();
      if (code === 0) return resolve(output);
      const message = (errors.trim() || output.trim()).split('\n').slice(-8).join('\n');
      reject(
        new Error(`${command} ${args[0] ?? ''} ended with ${signal ?? `code ${code}`}${message ? `: ${message}` : ''}`),
      );
    });
  });
}

/** The path of a program on PATH, or null. */
export async function which(name) {
  const names = process.platform === 'win32' ? [`${name}.exe`, `${name}.cmd`, `${name}.bat`] : [name];
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    for (const each of names) {
      const path = join(folder, each);
      if (await isExecutable(path)) return path;
    }
  }
  return null;
}

export function isExecutable(path) {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
