import { join } from 'node:path';
import { keepProcess, type KeptProcess } from './kept-process';

const KEEPER = join(__dirname, '..', 'scripts', 'keep-server.mjs');

export interface ProgramOptions {
  /** Named in errors. */
  name: string;
  command: string;
  args: string[];
  /** File to which its output is appended. */
  log: string;
  /** The complete environment; default: that of this process. */
  env?: Record<string, string | undefined>;
  /**
   * `spawned` (default): it is ready as soon as it runs, and `firstLine` is its process id. `first-line`: it is ready
   * when it has printed a line, which is `firstLine`; only its error output goes to the log then.
   */
  readyWhen?: 'spawned' | 'first-line';
  /** Time limit until it is ready; default 30 s. */
  startWithinMs?: number;
  /** Time limit between SIGTERM and SIGKILL; default 10 s. */
  stopWithinMs?: number;
}

/**
 * Starts a program that ends with this process, in every case, and that Ctrl-C in the terminal does not reach. Throws,
 * with the end of its log, if it ends by itself before it is ready.
 */
export function startProgram(options: ProgramOptions): Promise<KeptProcess> {
  const {
    name,
    command,
    args,
    log,
    env,
    readyWhen = 'spawned',
    startWithinMs = 30_000,
    stopWithinMs = 10_000,
  } = options;
  const keeping = { log, announce: readyWhen === 'spawned' ? 'pid' : 'output', killAfterMs: stopWithinMs };
  return keepProcess({
    script: KEEPER,
    args: [JSON.stringify(keeping), command, ...args],
    name,
    env,
    startWithinMs,
    // The keeper kills the program; the keeper itself is killed only if it fails to do so.
    stopWithinMs: stopWithinMs + 5_000,
  });
}
