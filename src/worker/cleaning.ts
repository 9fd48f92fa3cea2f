import type pg from 'pg';
import type { Logger } from 'pino';
import { EVENT_DAYS, pruneEvents } from '../ledger/events/feed';
import { API_CALL_DAYS, pruneApiCalls } from '../ledger/service/api-calls';
import { createCredentialFuse } from '../ledger/vault/credential-fuse';
import type { BackgroundJob } from './background-jobs';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Removes rows that are no longer needed from tables that would otherwise grow without limit. */
export function cleaningJobs(pool: pg.Pool, logger: Logger): BackgroundJob[] {
  return [
    {
      id: 'prune_audit',
      name: `remove audit rows that are older than ${API_CALL_DAYS} days`,
      everyMs: DAY_MS,
      run: async () =>
        logRemoved(await pruneApiCalls(pool, new Date(Date.now() - API_CALL_DAYS * DAY_MS)), 'audit rows'),
    },
    {
      id: 'prune_events',
      name: `remove events that are older than ${EVENT_DAYS} days`,
      everyMs: DAY_MS,
      run: async () => logRemoved(await pruneEvents(pool, new Date(Date.now() - EVENT_DAYS * DAY_MS)), 'events'),
    },
    {
      id: 'prune_credential_failures',
      name: 'remove failed credential checks that no longer count',
      everyMs: HOUR_MS,
      run: async () => logRemoved(await createCredentialFuse({ pool }).prune(), 'failed credential checks'),
    },
  ];

  function logRemoved(rows: number, what: string): void {
    if (rows > 0) logger.info({ rows }, `old ${what} removed`);
  }
}
