import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const COMMAND_LINE = join(__dirname, '..', '..', 'dist', 'starter', 'cli.js');

/** Runs `ebrc` in a process of its own; its progress is shown. @returns what it printed, whatever code it ended with */
export async function runProgramOf(args: readonly string[], env: Record<string, string | undefined>): Promise<string> {
  const child = spawn(process.execPath, [COMMAND_LINE, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return output;
}
