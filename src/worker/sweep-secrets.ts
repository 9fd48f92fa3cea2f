import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Mode } from '../domain/names';
import { orphanedSecrets, removeOrphanedSecrets } from '../ledger/vault/vault-sweep';
import type { BackgroundJob } from './background-jobs';

const HOUR_MS = 3_600_000;
/** A secret is stored just before its workflow is started. */
const SETTLED_AFTER_MS = 10 * 60_000;

export interface SecretSweep {
  pool: pg.Pool;
  client: Client;
  mode: Mode;
  logger: Logger;
}

/**
 * Removes passwords that no workflow needs any more: for example those of an onboarding that was refused or never
 * started.
 */
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

/**
 * Removes secrets that belong to no version of credentials and whose workflow has ended or does not exist.
 * @throws other errors of Temporal: nothing is concluded if the server does not answer
 */
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
