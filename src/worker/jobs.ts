import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/dates';
import type { Logger } from 'pino';
import type { Mode } from '../domain/names';
import { orphanedSecrets, removeOrphanedSecrets, type Vault } from '../ledger/vault/vault';
import type { BackgroundJob } from './background-jobs';
import { buffer } from 'node:stream/consumers';
import type { Deps } from '../activities/dependencies';
import { templateProblem } from '../domain/rules/columns';
import { claimTemplateReading, saveBulkTemplate } from '../ledger/service/bulk-templates';
import type pg from 'pg';
import { removeOldRows } from '../ledger/retention';
import { ensureSearchAttributes } from '../temporal/connect';
import { pruneFailedChecks } from '../ledger/vault/credential-fuse';

/** A secret is stored just before its workflow is started. */
const SETTLED_AFTER_MS = 10 * 60_000;

export interface SecretSweep {
  pool: pg.Pool;
  client: Client;
  mode: Mode;
  logger: Logger;
}

/** Removes passwords that nothing needs any more, as of an onboarding that was refused or never started. */
export function secretSweepJob(sweep: SecretSweep): BackgroundJob {
  return {
    id: 'sweep_secrets',
    name: 'remove passwords that no workflow needs',
    everyMs: HOUR_MS,
    run: async () => {
      const removed = await sweepSecrets(sweep);
      if (removed > 0) sweep.logger.info({ removed }, 'passwords that no workflow needs were removed');
    },
  };
}

/** Removes secrets of no version whose workflow has ended or is gone. @throws other errors: nothing is concluded */
export async function sweepSecrets(
  { pool, client, mode }: Omit<SecretSweep, 'logger'>,
  olderThanMs = SETTLED_AFTER_MS,
): Promise<number> {
  const byWorkflow = new Map<string | null, string[]>();
  for (const { workflowId, secretRef } of await orphanedSecrets(pool, mode, olderThanMs)) {
    byWorkflow.set(workflowId, [...(byWorkflow.get(workflowId) ?? []), secretRef]);
  }
  let removed = 0;
  for (const [workflowId, secretRefs] of byWorkflow) {
    if (workflowId !== null && (await isRunning(client, workflowId))) continue;
    removed += await removeOrphanedSecrets(pool, secretRefs);
  }
  return removed;
}

async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Publishes the vault's key. Repeated: somebody who puts another there could read what is handed in. */
export function vaultKeyJob(args: {
  vault: Pick<Vault, 'publish'>;
  pool: pg.Pool;
  mode: Mode;
  logger: Logger;
}): BackgroundJob {
  const { vault, pool, mode, logger } = args;
  return {
    id: 'vault_key',
    name: 'publish the key that passwords are sealed to',
    everyMs: HOUR_MS,
    run: async () => {
      const { replaced } = await vault.publish(pool, mode);
      if (replaced !== null) logger.warn({ keyId: replaced }, 'passwords were sealed to a key that is none of ours');
    },
  };
}

/** Reads the template's labels daily (spec: "GET /irm/bulk-template"); one without a shown label is not used. */
export function templateReading(
  deps: Pick<Deps, 'pool' | 'mode' | 'api' | 'workbooks' | 'clock' | 'logger'>,
): BackgroundJob {
  const { pool, mode, api, workbooks, clock, logger } = deps;
  return {
    id: 'read_template',
    name: 'read the labels of the bulk template',
    // Often, because a new installation has no exporter at its start; nearly all of these runs only read the ledger.
    everyMs: 5 * MINUTE_MS,
    async run(signal) {
      const at = new Date(clock());
      const exporterId = await claimTemplateReading(pool, { mode, at, maxAgeMs: DAY_MS, retryMs: HOUR_MS });
      if (exporterId === null) return;
      const bytes = await api.irmTemplate(exporterId, (body) => buffer(body), { exporterId, signal });
      const labels = await workbooks.templateLabels(bytes);
      const problem = templateProblem(labels);
      if (problem === null) await saveBulkTemplate(pool, mode, labels, at);
      else logger.warn({ problem, labels: labels.length }, 'the bulk template was not used');
    },
  };
}

/** Registers search attributes that are gone, as after an empty start: a workflow that sets one fails its tasks. */
export function searchAttributesJob(client: Client, namespace: string, logger: Logger): BackgroundJob {
  return {
    id: 'search_attributes',
    name: 'register search attributes that are gone',
    everyMs: MINUTE_MS,
    run: async () => void (await ensureSearchAttributes(client.connection, namespace, logger)),
  };
}

/** Removes rows that are no longer needed from tables that would otherwise grow without limit. */
export function cleaningJobs(pool: pg.Pool, logger: Logger): BackgroundJob[] {
  return [
    {
      id: 'prune',
      name: 'remove rows that are older than they are kept',
      everyMs: DAY_MS,
      run: async () => {
        for (const [what, rows] of Object.entries(await removeOldRows(pool, Date.now()))) logRemoved(rows, what);
      },
    },
    {
      id: 'prune_credential_failures',
      name: 'remove failed credential checks that no longer count',
      everyMs: HOUR_MS,
      run: async () => logRemoved(await pruneFailedChecks(pool, new Date()), 'failed credential checks'),
    },
  ];

  function logRemoved(rows: number, what: string): void {
    if (rows > 0) logger.info({ rows, what }, 'old rows removed');
  }
}
