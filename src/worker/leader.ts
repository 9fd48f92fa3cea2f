/** What one worker of a mode does for all of them: a lock of the ledger says which one. */
import { once } from 'node:events';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Mode } from '../domain/names';
import { startBackgroundJobs, type BackgroundJob, type JobOutcome } from './background-jobs';

const EVERY_MS = 15_000;

/**
 * Runs `jobs` while this worker holds the lock, which PostgreSQL frees with its connection: another follows within
 * {@link EVERY_MS}. For a moment two may run them.
 */
export function leaderJob(args: {
  pool: pg.Pool;
  mode: Mode;
  jobs: readonly BackgroundJob[];
  logger: Logger;
  onRun?: (outcome: JobOutcome) => void;
}): BackgroundJob {
  const { pool, mode, jobs, logger, onRun } = args;
  return {
    id: 'lead',
    name: 'do what one worker does for all',
    everyMs: EVERY_MS,
    async run(signal) {
      const connection = await pool.connect();
      let leads = false;
      try {
        const { rows } = await connection.query<{ leads: boolean }>(
          'SELECT pg_try_advisory_lock(hashtextextended($1, 8)) AS leads',
          [`lead/${mode}`],
        );
        leads = rows[0]?.leads ?? false;
        if (leads) await runUntilLost(connection, signal);
      } finally {
        // The lock ends with the connection.
        connection.release(leads);
      }
    },
  };

  async function runUntilLost(connection: pg.PoolClient, signal: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const onLost = () => lost.abort();
    connection.once('error', onLost).once('end', onLost);
    const running = startBackgroundJobs(jobs, logger, onRun);
    const over = AbortSignal.any([signal, lost.signal]);
    if (!over.aborted) await once(over, 'abort');
    connection.off('error', onLost).off('end', onLost);
    await running.stop();
  }
}
