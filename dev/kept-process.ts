import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A server in a child process, which ends with this process. */
export interface KeptProcess {
  pid: number;
  /** The first line that it printed. */
  firstLine: string;
  /** Ends when the process does, with its exit code (null after a signal). */
  exited: Promise<number | null>;
  /** Rejects with a `ProgramEndedError` if the process ends unexpectedly. Never resolves. */
  failed: Promise<never>;
  /** Closes its standard input, which tells it to stop, and waits for its end; kills it after `stopWithinMs`. */
  stop(): Promise<void>;
}

/** A server ended by itself; the message has the end of its error output. */
export class ProgramEndedError extends Error {
  override readonly name = 'ProgramEndedError';
}

export interface KeepOptions {
  /** A script of ours that prints one line when it is ready and stops when its standard input ends. */
  script: string;
  args: string[];
  /** Named in errors. */
  name: string;
  /** The complete environment of the script and its server; default: that of this process. */
  env?: Record<string, string | undefined>;
  startWithinMs: number;
  stopWithinMs?: number;
}

/**
 * Starts `node script …args` and resolves with the first line that it prints. The pipe to its standard input closes
 * when this process ends for any reason, including a crash or SIGKILL, so the server stops too. It has its own process
 * group: Ctrl-C in the terminal reaches only this process, and the servers stop last. Throws with the end of its error
 * output if it ends or prints nothing.
 */
export async function keepProcess(options: KeepOptions): Promise<KeptProcess> {
  const { script, args, name, env, startWithinMs, stopWithinMs = 20_000 } = options;
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  // The pipe breaks if the child ends first; `exited` reports that.
  child.stdin.on('error', () => undefined);

  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  let stopping = false;
  const stop = async () => {
    stopping = true;
    child.stdin.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
    await exited;
    clearTimeout(timer);
  };
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new Error(`${name} could not be started: ${error.message}`)));
    void exited.then((code) => {
      const message = errors.trim();
      if (!stopping) reject(new ProgramEndedError(`${name} ended with code ${code}${message ? `: ${message}` : ''}`));
    });
  });
  // Handled here too, so that it is not an unhandled rejection if nothing waits for it.
  failed.catch(() => undefined);

  try {
    const firstLine = await Promise.race([firstLineOf(child), failed, timeOut(name, startWithinMs)]);
    return { pid: child.pid ?? 0, firstLine, exited, failed, stop };
  } catch (error) {
    if (child.pid !== undefined) await stop();
    throw error;
  }
}

/** Reading continues after the first line: a full pipe would block a process that prints more. */
function firstLineOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (child.stdout) createInterface({ input: child.stdout }).once('line', resolve);
  });
}

function timeOut(name: string, afterMs: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${name} did not answer within ${afterMs / 1000} s`)), afterMs).unref();
  });
}
