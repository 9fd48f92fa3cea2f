import { join } from 'node:path';
import { keepProcess, type KeptProcess } from './kept-process';

const KEEPER = join(__dirname, '..', 'scripts', 'keep-server.mjs');

export interface ProgramOptions {
  /** Named in errors. */
  name: string;
  command: string;
  args: string[];
  /** What it prints is appended here. */
  log: string;
  /** The whole environment; this process's own where left out. */
  env?: Record<string, string | undefined>;
  /**
   * `spawned` (default): it is ready as soon as it runs, and `firstLine` is its process id. `first-line`: it is ready
   * when it has printed a line, which is `firstLine`; only its error output goes to the log then.
   */
  readyWhen?: 'spawned' | 'first-line';
  /** How long until it is ready; default 30 s. */
  startWithinMs?: number;
  /** How long it has to end after SIGTERM before it is killed; default 10 s. */
  stopWithinMs?: number;
}

/**
 * Starts a program that ends with this process, however that ends, and that Ctrl-C in the terminal does not reach.
 * Throws, with the end of its log, when it ends by itself before it is ready.
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
    // The keeper kills it; it is itself killed only if it does not even do that.
    stopWithinMs: stopWithinMs + 5_000,
  });
}
