import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { workbooksInProcess } from '../../src/workbook/workbooks';
import { runProgram } from '../../src/starter/cli/program';

const ROOT = join(__dirname, '..', '..');

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output as the JSON document that it must be. */
  json: <T = unknown>() => T;
}

export interface CommandOptions {
  /** Added to an environment with only PATH and HOME. */
  env?: Record<string, string>;
  /** Standard input. */
  input?: string;
  /** How long a process of its own may take. */
  withinMs?: number;
  /** Path of a built command line, which is started as a process. */
  program?: string;
  /** How long a PostgreSQL that restarts is waited for; not at all where left out. */
  waitForLedgerMs?: number;
  /** How long a Temporal server that does not answer is tried. */
  connectWithinMs?: number;
  /** Time between two looks for a worker that answers. */
  lookForWorkerEveryMs?: number;
  /** A process of its own, from the sources. */
  spawned?: boolean;
}

/** How a TypeScript source of ours is started as a program of its own. */
export function programArguments(source: string): string[] {
  return ['-r', join(ROOT, 'scripts', 'typescript.cjs'), join(ROOT, source)];
}

/** The environment of a program in tests: without our variables, so that a developer's settings do not affect tests. */
export function cleanEnvironment(env: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '', TZ } = process.env;
  return { PATH, HOME, ...(TZ === undefined ? {} : { TZ }), NO_COLOR: '1', ...env };
}

/**
 * Runs the command line as a user does, with arguments, environment and standard input: in this process, or as a
 * separate process if `program` or `spawned` is set.
 */
export async function ebrc(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  if (options.program !== undefined || options.spawned) return spawnedEbrc(args, options);
  const { env, input = '' } = options;
  const [stdout, stderr] = [new Collected(), new Collected()];
  const streams = { stdin: Readable.from([Buffer.from(input)]), stdout, stderr };
  const code = await runProgram(args, streams, {
    env: cleanEnvironment(env),
    waitForLedgerMs: options.waitForLedgerMs ?? 0,
    lookForWorkerEveryMs: options.lookForWorkerEveryMs,
    connectWithinMs: options.connectWithinMs,
    workbooks: workbooksInProcess,
  });
  return resultOf(code, stdout.text, stderr.text);
}

/** What is written to it. */
class Collected extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function spawnedEbrc(args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const { env, input = '', withinMs = 120_000, program } = options;
  const start = program === undefined ? programArguments('src/starter/cli.ts') : [program];
  const child = spawn(process.execPath, [...start, ...args], {
    env: cleanEnvironment(env),
    timeout: withinMs,
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(resultOf(code, stdout, stderr)));
  });
}

function resultOf(code: number | null, stdout: string, stderr: string): CommandResult {
  return {
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
  };
}
