import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Mode } from '../domain/names';

/** Periodic work of a worker, besides Temporal's tasks. */
export interface BackgroundJob {
  /** A short name, for metrics. */
  id: string;
  name: string;
  everyMs: number;
  /**
   * One run, in every worker process unless {@link leaderJob} runs it. `signal` aborts when the worker stops; a run is
   * abandoned {@link STOP_WITHIN_MS} later.
   */
  run: (signal: AbortSignal) => Promise<void>;
}

/** How long a stop waits for running jobs, which must not delay the end of the process. */
export const STOP_WITHIN_MS = 5_000;

/** Runs each job now and again `everyMs` after its last run ended; a failed run is logged. */
export function startBackgroundJobs(
  jobs: readonly BackgroundJob[],
  logger: Logger,
  onRun: (outcome: { id: string; ok: boolean }) => void = () => undefined,
): {
  /** Starts no further runs. Resolves when current runs ended, or after {@link STOP_WITHIN_MS}. */
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
  onRun: (outcome: { id: string; ok: boolean }) => void,
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
    // The sleep must not keep a worker alive whose other work has ended.
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** The delay before a worker tries again to lead after a failure, or after it lost the lead. */
const LEAD_AGAIN_MS = 15_000;
/** How often the leader notifies the others that it leads, which costs them no statement. */
const HEARD_EVERY_MS = 10_000;
/** A leader that was killed says nothing: until then nobody is told of events. */
const SILENT_MS = 15_000;
const HELD = 'held';
const FREE = 'free';

/**
 * Runs `jobs` in one worker of a mode: the one that holds an advisory lock, which PostgreSQL frees with its connection.
 * Another takes over at once when the leader stops, else within {@link SILENT_MS}. For a moment two may run the jobs.
 */
export function leaderJob(args: {
  pool: pg.Pool;
  mode: Mode;
  jobs: readonly BackgroundJob[];
  logger: Logger;
  onRun?: (outcome: { id: string; ok: boolean }) => void;
}): BackgroundJob {
  const { pool, mode, jobs, logger, onRun } = args;
  const channel = `ebrc_lead_${mode}`;
  return {
    id: 'lead',
    name: 'do what one worker does for all',
    everyMs: LEAD_AGAIN_MS,
    async run(signal) {
      // Keep the connection while waiting, because opening one for each attempt would cost more.
      const connection = await pool.connect();
      const lost = new AbortController();
      const onLost = () => lost.abort(new Error('the connection that holds the lock, or waits for it, was lost'));
      connection.once('error', onLost).once('end', onLost);
      const over = AbortSignal.any([signal, lost.signal]);
      try {
        await connection.query(`LISTEN ${channel}`);
        while (!(await takesLead(connection))) await untilFreeOrSilent(connection, over);
        const heartbeat = {
          id: 'lead_held',
          name: 'tell the other workers that one leads',
          everyMs: HEARD_EVERY_MS,
          run: () => notify(connection, HELD),
        };
        const running = startBackgroundJobs([heartbeat, ...jobs], logger, onRun);
        if (!over.aborted) await once(over, 'abort');
        await running.stop();
        if (lost.signal.aborted) return;
        await connection.query('SELECT pg_advisory_unlock_all()');
        await notify(connection, FREE);
      } finally {
        connection.off('error', onLost).off('end', onLost);
        // Closing the connection also ends the lock and the LISTEN.
        connection.release(true);
      }
    },
  };

  async function takesLead(connection: pg.PoolClient): Promise<boolean> {
    const { rows } = await connection.query<{ leads: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 8)) AS leads',
      [`lead/${mode}`],
    );
    return rows[0]?.leads ?? false;
  }

  async function notify(connection: pg.PoolClient, what: typeof HELD | typeof FREE): Promise<void> {
    await connection.query('SELECT pg_notify($1, $2)', [channel, what]);
  }
}

async function untilFreeOrSilent(connection: pg.PoolClient, signal: AbortSignal): Promise<void> {
  for (let heard: string | undefined = HELD; heard === HELD;) {
    const over = new AbortController();
    const waits = { signal: AbortSignal.any([signal, over.signal]), ref: false };
    const notification = once(connection, 'notification', waits) as Promise<[pg.Notification]>;
    const silence = sleep(SILENT_MS, undefined, waits);
    heard = await Promise.race([notification.then(([{ payload }]) => payload), silence]).finally(() => over.abort());
  }
}
