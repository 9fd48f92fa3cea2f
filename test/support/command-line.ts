import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output as the JSON document that it must be. */
  json: <T = unknown>() => T;
}

export interface CommandOptions {
  /** Added to an environment that has PATH and HOME alone. */
  env?: Record<string, string>;
  /** Standard input. */
  input?: string;
  cwd?: string;
  withinMs?: number;
  /** Path of a built command line; the sources where left out. */
  program?: string;
}

/** How a TypeScript source of ours is started as a program of its own. */
export function programArguments(source: string): string[] {
  return ['-r', join(ROOT, 'test', 'support', 'run-typescript.cjs'), join(ROOT, source)];
}

/** The environment of a program in tests: nothing of ours from outside, so that a developer's settings change no test. */
export function cleanEnvironment(env: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '', TZ } = process.env;
  return { PATH, HOME, ...(TZ === undefined ? {} : { TZ }), NO_COLOR: '1', ...env };
}

/** Runs the command line as a user does: a process of its own, with arguments, environment and standard input. */
export function ebrc(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { env, input = '', cwd, withinMs = 120_000, program } = options;
  const start = program === undefined ? programArguments('src/starter/cli.ts') : [program];
  const child = spawn(process.execPath, [...start, ...args], {
    cwd,
    env: cleanEnvironment(env),
    timeout: withinMs,
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      resolve({
        code,
        stdout,
        stderr,
        json: <T>() => {
          try {
            return JSON.parse(stdout) as T;
          } catch {
            throw new Error(`Not one JSON document:\n${stdout}\n--- standard error:\n${stderr}`);
          }
        },
      }),
    );
  });
}
