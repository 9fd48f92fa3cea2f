/** Start and end of a worker process: waiting for servers, shutdown times, running the workers. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { within } from '../telemetry/readiness';
import { STOP_WITHIN_MS as JOBS_WITHIN_MS } from './background-jobs';

/** How long a start waits for a server. */
export const START_WITHIN_MS = 120_000;
const PAUSE_MS = 2_000;

/** Retries `connect` while its error `passes`, that is, may be temporary. @throws Error after `patienceMs` */
export async function waitFor<T>(
  what: { name: string; address: string; hint: string },
  connect: () => Promise<T>,
  logger: Logger,
  {
    patienceMs = START_WITHIN_MS,
    passes = () => true,
  }: { patienceMs?: number; passes?: (error: unknown) => boolean } = {},
): Promise<T> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (!passes(error)) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      if (Date.now() >= until) {
        throw new Error(
          `${what.name} at ${what.address} did not answer within ${Math.round(patienceMs / 1000)} s (${reason}). ${what.hint}`,
          { cause: error },
        );
      }
      logger.warn({ what: what.name, address: what.address, reason }, 'waiting for a server');
      await sleep(PAUSE_MS);
    }
  }
}

/** The longest call takes two HTTP time-outs, and a SIGTERM must never interrupt a submission. */
const GRACE_HTTP_TIMEOUTS = 2;
/** For storing an activity's result after its call, as PostgreSQL may be slow. */
const GRACE_EXTRA_MS = 10_000;
const FORCE_EXTRA_MS = 10_000;
/** For audit rows, budget reports and connections, after the last activity. */
export const CLOSE_WITHIN_MS = 10_000;
const MARGIN_MS = 5_000;

/** Time limits of a shutdown, in milliseconds. */
export function shutdownTimes(httpTimeoutMs: number): {
  /** For running activities to finish. */
  graceMs: number;
  /** From the signal until the workers are given up. */
  forceMs: number;
  /** From the signal to the end of the process in any case. A supervisor must wait longer than this. */
  boundMs: number;
} {
  const graceMs = GRACE_HTTP_TIMEOUTS * httpTimeoutMs + GRACE_EXTRA_MS;
  const forceMs = graceMs + FORCE_EXTRA_MS;
  return { graceMs, forceMs, boundMs: JOBS_WITHIN_MS + forceMs + CLOSE_WITHIN_MS + MARGIN_MS };
}

/** Waits until `work` settles or the time is over. @returns whether it succeeded in time */
export const succeedsWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  within(
    ms,
    work.then(() => true),
    () => new Error('late'),
  ).catch(() => false);

/**
 * Runs all workers until they have ended. When one ends, `stop` is called, because a process that serves only some task
 * queues is worse than a restarted one.
 * @throws the first worker's error, once all have ended
 */
export async function runAll(workers: readonly Pick<Worker, 'run'>[], stop: () => Promise<void>): Promise<void> {
  let failure: { error: unknown } | undefined;
  const run = async (worker: Pick<Worker, 'run'>) => {
    try {
      await worker.run();
    } catch (error) {
      failure ??= { error };
    }
    await stop();
  };
  await Promise.all(workers.map(run));
  if (failure) throw failure.error;
}
