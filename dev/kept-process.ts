import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A server in a child process, which ends with this process. */
export interface KeptProcess {
  pid: number;
  /** The first line that it printed. */
  firstLine: string;
  /** Ends when the process does, with its exit code (null after a signal). */
  exited: Promise<number | null>;
  /** Rejects, with the end of its error output, when the process ends without having been asked to. Never resolves. */
  failed: Promise<never>;
  /**
   * Closes its standard input, which is how it is asked to stop, and waits for its end; kills it after `stopWithinMs`.
   */
  stop(): Promise<void>;
}

export interface KeepOptions {
  /** A script of ours that prints one line when it is ready and stops when its standard input ends. */
  script: string;
  args: string[];
  /** Named in errors. */
  name: string;
  /** The whole environment of the script and its server; this process's own where left out. */
  env?: Record<string, string | undefined>;
  startWithinMs: number;
  stopWithinMs?: number;
}

/**
 * Starts `node script …args` and resolves with the first line that it prints. Our end of its standard input closes when
 * this process ends in whatever way, a crash or SIGKILL too, so the server stops with us. It has a process group of its
 * own: Ctrl-C in the terminal reaches us alone, and the servers go last. Throws with the end of its error output when
 * it ends or stays silent instead.
 */
export async function keepProcess(options: KeepOptions): Promise<KeptProcess> {
  const { script, args, name, env, startWithinMs, stopWithinMs = 20_000 } = options;
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString('utf8')).slice(-4_000)));
  // The pipe breaks when the child ends first; that is told by `exited`.
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
      const said = errors.trim();
      if (!stopping) reject(new Error(`${name} ended with code ${code}${said ? `: ${said}` : ''}`));
    });
  });
  // Handled here too, so that it is no unhandled rejection where nobody waits for it.
  failed.catch(() => undefined);

  try {
    const firstLine = await Promise.race([firstLineOf(child), failed, timeOut(name, startWithinMs)]);
    return { pid: child.pid ?? 0, firstLine, exited, failed, stop };
  } catch (error) {
    if (child.pid !== undefined) await stop();
    throw error;
  }
}

/** The reader stays on after the first line: a full pipe would stop a process that goes on printing. */
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
