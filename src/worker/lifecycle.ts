/** The start of a worker process, which waits for its servers, and its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { within } from '../telemetry/readiness';
import { STOP_WITHIN_MS as JOBS_WITHIN_MS } from './background-jobs';

/** How long to wait at start for a server that is not up yet. */
export const START_WITHIN_MS = 120_000;
const PAUSE_MS = 2_000;

/** Repeats `connect` until it succeeds or `passes` is false. @throws Error after {@link START_WITHIN_MS} */
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

/** The longest call takes two HTTP time-outs; a SIGTERM must never interrupt a submission. */
const GRACE_HTTP_TIMEOUTS = 2;
/** For storing an activity's result after its call, in a PostgreSQL that may be slow. */
const GRACE_EXTRA_MS = 10_000;
const FORCE_EXTRA_MS = 10_000;
/** For audit rows, budget reports and connections, once no activity is running. */
export const CLOSE_WITHIN_MS = 10_000;
const MARGIN_MS = 5_000;

/** How long each part of a shutdown may take, in milliseconds. */
export interface ShutdownTimes {
  /** Activities in progress may finish. */
  graceMs: number;
  /** From the signal until the workers are given up. */
  forceMs: number;
  /** From the signal to the end of the process, whatever hangs. A supervisor must wait longer than this. */
  boundMs: number;
}

export function shutdownTimes(httpTimeoutMs: number): ShutdownTimes {
  const graceMs = GRACE_HTTP_TIMEOUTS * httpTimeoutMs + GRACE_EXTRA_MS;
  const forceMs = graceMs + FORCE_EXTRA_MS;
  return { graceMs, forceMs, boundMs: JOBS_WITHIN_MS + forceMs + CLOSE_WITHIN_MS + MARGIN_MS };
}

/** Resolves when `work` has settled or the time is over. @returns whether it succeeded in time */
export const succeedsWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  within(
    ms,
    work.then(() => true),
    () => new Error('late'),
  ).catch(() => false);

/**
 * Runs all workers until they have ended; when one ends, `stop` is called: a process that serves only some queues is
 * worse than one restarted.
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
