import type { Connection } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import { createPool } from '../../ledger/pool';
import type { HealthProbe } from './health-server';

const WITHIN_MS = 2_500;

/** The probe and what it holds open. */
export type OpenProbe = HealthProbe & { close(): Promise<void> };

/**
 * Checks that PostgreSQL answers and takes writes. On a separate connection: a pool whose connections are all busy is
 * under load, not broken, and taking the worker out of service would increase the load of the others.
 */
export function postgresqlProbe(databaseUrl: string): OpenProbe {
  const timeouts = { connectMs: WITHIN_MS, statementMs: WITHIN_MS, queryMs: WITHIN_MS };
  const pool = createPool({ url: databaseUrl, applicationName: 'ebrc-health', max: 1, timeouts });
  return {
    name: 'postgresql',
    look: async () => {
      const { rows } = await pool.query<{ away: boolean }>('SELECT pg_is_in_recovery() AS away');
      if (rows[0]?.away) throw new Error('the server is a standby and takes no writes');
      return 'answers';
    },
    close: () => pool.end(),
  };
}

/** Checks that Temporal answers a call that needs no namespace and changes nothing. */
export function temporalProbe(connection: Connection): HealthProbe {
  return {
    name: 'temporal',
    look: async () => {
      await connection.withDeadline(Date.now() + WITHIN_MS, () => connection.workflowService.getSystemInfo({}));
      return 'answers';
    },
  };
}

/** Checks that every worker of this process runs and polls its queue. */
export function pollersProbe(workers: readonly Worker[]): HealthProbe {
  return {
    name: 'pollers',
    look: () => {
      const idle = workers.filter((worker) => !polls(worker)).map(({ options }) => options.taskQueue);
      if (idle.length === 0) return Promise.resolve(`${workers.length} task queues are polled`);
      return Promise.reject(new Error(`these task queues are not polled: ${idle.join(', ')}`));
    },
  };
}

function polls(worker: Worker): boolean {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  if (runState !== 'RUNNING') return false;
  // A worker without workflows has no workflow poller, which counts as shut down.
  const workflows = worker.options.workflowBundle === undefined || workflowPollerState === 'POLLING';
  return workflows && activityPollerState === 'POLLING';
}
