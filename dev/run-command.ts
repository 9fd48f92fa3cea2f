import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** The built command line. */
export const COMMAND_LINE = join(__dirname, '..', 'dist', 'starter', 'cli.js');

export interface RunOptions {
  env: Record<string, string | undefined>;
  /** Standard input; empty where left out. */
  input?: string;
  /** Return its output instead of showing it. */
  capture?: boolean;
  /** Exit codes besides 0 that it may end with: 4, where it waits for a person. */
  mayExit?: readonly number[];
}

/**
 * Runs `ebrc` as a user would, in a separate process, and returns its output if `capture` is set.
 * @throws Error naming the command if its exit code is not 0
 */
export function runCommand(
  args: readonly string[],
  { env, input, capture = false, mayExit = [] }: RunOptions,
): Promise<string> {
  const child = spawn(process.execPath, [COMMAND_LINE, ...args], {
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', capture ? 'pipe' : 'inherit', 'inherit'],
  });
  child.stdin?.end(input);
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0 || (code !== null && mayExit.includes(code))) resolve(output);
      else reject(new Error(`ebrc ${args[0] ?? ''} ended with ${signal ?? `code ${code}`}.`));
    });
  });
}
