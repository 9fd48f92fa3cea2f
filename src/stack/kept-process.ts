import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A server that lives in a child process of ours and cannot outlive us. */
export interface KeptProcess {
  pid: number;
  /** The first line that it printed. */
  firstLine: string;
  /** Ends when the process does, with its exit code (null after a signal). */
  exited: Promise<number | null>;
  /** Closes its standard input, which is how it is asked to stop, and waits for its end; kills it after `stopWithinMs`. */
  stop(): Promise<void>;
}

export interface KeepOptions {
  /** A script of ours that prints one line when it is ready and stops when its standard input ends. */
  script: string;
  args: string[];
  /** Named in errors. */
  name: string;
  startWithinMs: number;
  stopWithinMs?: number;
}

/**
 * Starts `node script …args` and resolves with the first line that it prints. Our end of its standard input closes when this
 * process ends in whatever way, a crash or SIGKILL too, so the server stops with us. It has a process group of its own: Ctrl-C in
 * the terminal reaches us alone, and the servers go last. Throws with the end of its error output when it ends or stays
 * silent instead.
 */
export async function keepProcess(options: KeepOptions): Promise<KeptProcess> {
  const { script, args, name, startWithinMs, stopWithinMs = 20_000 } = options;
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString('utf8')).slice(-4_000)));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  // The pipe breaks when the child ends first; that is told by `exited`.
  child.stdin.on('error', () => undefined);

  const firstLine = await firstLineOf(child, startWithinMs, exited).catch((reason: unknown) => {
    child.kill('SIGKILL');
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new Error(`${name} ${why}${errors ? `: ${errors.trim()}` : ''}`);
  });
  if (child.pid === undefined) throw new Error(`${name} has no process id.`);
  return { pid: child.pid, firstLine, exited, stop: () => stopChild(child, exited, stopWithinMs) };
}

function firstLineOf(child: ChildProcess, withinMs: number, exited: Promise<number | null>): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`did not answer within ${withinMs / 1000} s`)), withinMs);
    child.once('error', reject);
    void exited.then((code) => reject(new Error(`ended with code ${code}`)));
    if (!child.stdout) return;
    // The reader stays on: a full pipe would stop a server that goes on printing.
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(timer);
      resolve(line);
    });
    void exited.then(() => clearTimeout(timer));
  });
}

async function stopChild(child: ChildProcess, exited: Promise<number | null>, withinMs: number): Promise<void> {
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
  await exited;
  clearTimeout(timer);
}
