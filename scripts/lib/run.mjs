import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { undoOnLeaving } from './leaving.mjs';

/**
 * Runs a program to its end and answers its standard output. Fails with the end of its error output when it exits with
 * another code than 0, is not there, or takes longer than `withinMs`. `onLine` hears each line of its error output as
 * it comes.
 */
export function run(command, args, { cwd, env, withinMs = 30_000, onLine } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const forget = undoOnLeaving(() => child.kill('SIGTERM'));
    let output = '';
    let errors = '';
    let line = '';
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${command} did not end within ${Math.round(withinMs / 1000)} s`));
    }, withinMs);
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => {
      errors = (errors + chunk).slice(-4_000);
      const lines = (line + chunk).split('\n');
      line = lines.pop() ?? '';
      if (onLine) lines.forEach((each) => onLine(each));
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      forget();
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      forget();
      if (code === 0) return resolve(output);
      const said = (errors.trim() || output.trim()).split('\n').slice(-8).join('\n');
      reject(new Error(`${command} ${args[0] ?? ''} ended with ${signal ?? `code ${code}`}${said ? `: ${said}` : ''}`));
    });
  });
}

/** Where a program lies on PATH, or null. */
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
