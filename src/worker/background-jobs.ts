import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Work that a worker does periodically, besides Temporal's tasks. */
export interface BackgroundJob {
  /** A short name, for metrics. */
  id: string;
  name: string;
  everyMs: number;
  /**
   * One run, in every worker process; a job that must run once takes a lock. `signal` aborts at the worker's stop; a
   * run is abandoned after {@link STOP_WITHIN_MS}.
   */
  run: (signal: AbortSignal) => Promise<void>;
}

export interface JobOutcome {
  id: string;
  ok: boolean;
}

/** A stop waits this long for running jobs: none of them may delay the end of the process. */
export const STOP_WITHIN_MS = 5_000;

/** Runs each job now and `everyMs` after its last run ended, one at a time; a failed run is logged. */
export function startBackgroundJobs(
  jobs: readonly BackgroundJob[],
  logger: Logger,
  onRun: (outcome: JobOutcome) => void = () => undefined,
): {
  /** Starts no further runs; resolves when current runs have ended, or after {@link STOP_WITHIN_MS}. */
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const loops = jobs.map((job) => runForever(job, stopping.signal, logger, onRun));
  return {
    async stop() {
      stopping.abort();
      await Promise.race([Promise.all(loops), sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}

async function runForever(
  { id, name, everyMs, run }: BackgroundJob,
  signal: AbortSignal,
  logger: Logger,
  onRun: (outcome: JobOutcome) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await run(signal);
      onRun({ id, ok: true });
    } catch (error) {
      if (!signal.aborted) {
        logger.warn({ job: name, err: error }, 'a background job failed; it runs again at its next time');
        onRun({ id, ok: false });
      }
    }
    // A waiting job must not keep a worker alive whose other work has ended.
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
