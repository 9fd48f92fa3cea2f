import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptProcess } from '../dev/kept-process';
import { startProgram } from '../dev/program';

const WORKER = join(__dirname, '..', 'dist', 'worker.js');

type Env = Record<string, string | undefined>;

/** The worker processes of a run, or its HTTP APIs. Each ends with this process, however that ends. */
export interface Workers {
  /**
   * Kills (`SIGKILL`) or stops (`SIGTERM`) one worker and starts it again after `awayMs`; resolves when it runs again.
   */
  restart(nth: number, signal: 'SIGKILL' | 'SIGTERM', awayMs?: number): Promise<void>;
  /**
   * Starts as many workers with further variables beside those that run, waits for `beside`, and stops the old ones one
   * by one (`SIGTERM`).
   */
  replaceAll(variables: Env, beside: () => Promise<void>): Promise<void>;
  /** Stops all workers (`SIGTERM`), waits for `work`, and starts them again. */
  whileStopped(work: () => Promise<void>): Promise<void>;
  size: number;
  /** Process ids of the workers that run now. */
  pids(): number[];
  /**
   * Workers that exited unexpectedly (they were started again), and those that did not shut down cleanly.
   */
  problems: readonly string[];
  stop(): Promise<void>;
}

interface WorkerProcess {
  process: KeptProcess;
  /** Whether it was told to end. */
  stopping: boolean;
  log: string;
  /** Where its part of the log begins. */
  logFrom: number;
}

export async function startWorkers(options: {
  size: number;
  env: Env;
  /** Further variables of one of them, the first being 0. */
  envOf?: (nth: number) => Env;
  folder: string;
  /** In logs and problems; default `worker`. */
  name?: string;
  /** What a worker runs; default the built one. */
  program?: string;
  args?: readonly string[];
  /** Preloaded into every worker. */
  preload?: string;
}): Promise<Workers> {
  const { size, env, envOf = () => ({}), folder, name = 'worker', program = WORKER, args = [], preload } = options;
  let variables: Env = {};
  await access(program).catch(() => {
    throw new Error('The workers are not built. Run: npm run build');
  });
  /** Workers of different generations run side by side, so each generation has its own log files. */
  let generation = 1;
  const logOf = (nth: number) => join(folder, `${name}-${nth + 1}${generation > 1 ? `-${generation}` : ''}.log`);
  const readLog = (log: string) => readFile(log, 'utf8').catch(() => '');
  const processes: WorkerProcess[] = [];
  const busy = new Set<number>();
  const problems: string[] = [];
  let over = false;

  async function start(nth: number): Promise<void> {
    const log = logOf(nth);
    const logFrom = (await readLog(log)).length;
    const started = await startProgram({
      name: `${name} ${nth + 1}`,
      command: process.execPath,
      args: [...(preload === undefined ? [] : ['--require', preload]), program, ...args],
      log,
      env: { ...env, ...envOf(nth), ...variables },
      stopWithinMs: 60_000,
    });
    const worker = { process: started, stopping: false, log, logFrom };
    processes[nth] = worker;
    void started.exited.then(() => restartUnexpected(nth, worker));
  }

  /** Starts it again, as a supervisor would; the run still counts as failed. */
  async function restartUnexpected(nth: number, worker: WorkerProcess): Promise<void> {
    if (worker.stopping || over) return;
    worker.stopping = true;
    const last = (await readLog(worker.log)).slice(worker.logFrom).trimEnd().split('\n').at(-1) ?? '';
    problems.push(`${name} ${nth + 1} exited unexpectedly: ${last.slice(0, 400)}`);
    busy.add(nth);
    await start(nth)
      .catch((error: Error) => problems.push(`${name} ${nth + 1} could not be started again: ${error.message}`))
      .finally(() => busy.delete(nth));
  }

  async function end(nth: number, worker: WorkerProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    worker.stopping = true;
    // The worker itself, not its keeper.
    process.kill(Number(worker.process.firstLine), signal);
    await worker.process.exited;
    if (signal === 'SIGKILL') return;
    const said = (await readLog(worker.log)).slice(worker.logFrom);
    // A worker that has not started polling ends at once, without a log line.
    if (said.includes('"worker started"') && !said.includes('"worker stopped"')) {
      problems.push(`${name} ${nth + 1} did not shut down cleanly`);
    }
  }

  const everyone = Array.from({ length: size }, (_unused, nth) => nth);
  const free = async () => {
    while (busy.size > 0) await sleep(100);
    everyone.forEach((nth) => busy.add(nth));
  };
  await Promise.all(everyone.map(start));
  return {
    size,
    problems,
    pids: () => processes.map((worker) => Number(worker.process.firstLine)),
    async restart(nth, signal, awayMs = 0) {
      const worker = processes[nth];
      if (!worker || worker.stopping || busy.has(nth) || over) return;
      busy.add(nth);
      try {
        await end(nth, worker, signal);
        await sleep(awayMs);
        await start(nth);
      } finally {
        busy.delete(nth);
      }
    },
    async replaceAll(further, beside) {
      await free();
      try {
        const old = processes.slice();
        variables = further;
        generation += 1;
        await Promise.all(everyone.map(start));
        await beside().finally(async () => {
          for (const [nth, worker] of old.entries()) await end(nth, worker, 'SIGTERM');
        });
      } finally {
        busy.clear();
      }
    },
    async whileStopped(work) {
      await free();
      try {
        await Promise.all(processes.map((worker, nth) => end(nth, worker, 'SIGTERM')));
        await work();
        await Promise.all(everyone.map(start));
      } finally {
        busy.clear();
      }
    },
    async stop() {
      while (busy.size > 0) await sleep(100);
      over = true;
      await Promise.all(processes.map((worker) => worker.process.stop()));
    },
  };
}
