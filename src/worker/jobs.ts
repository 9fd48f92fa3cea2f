import type { Client } from '@temporalio/client';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/dates';
import type { Logger } from 'pino';
import type { Mode } from '../domain/names';
import { orphanedSecrets, removeOrphanedSecrets, removeOldRows } from '../ledger/retention';
import type { BackgroundJob } from './background-jobs';
import type { Metrics } from './metrics';
import { buffer } from 'node:stream/consumers';
import type { Deps } from '../activities/dependencies';
import { templateProblem } from '../domain/rules/columns';
import { claimTemplateReading, saveBulkTemplate } from '../ledger/service/bulk-templates';
import type pg from 'pg';
import { ensureSearchAttributes } from '../temporal/connect';
import { describeRun } from '../temporal/runs';
import { pruneFailedChecks } from '../ledger/vault/credential-fuse';
import type { DocumentStore } from '../documents/document-store';
import type { Queryable } from '../ledger/pool';
import { readLedgerId } from '../ledger/time';
import { NotReady, within, type Probe } from '../telemetry/readiness';

/** Younger secrets are kept, because a secret is stored just before its workflow starts. */
const SETTLED_AFTER_MS = 10 * 60_000;

/** Removes passwords that are no longer needed, e.g. of an onboarding that was refused or never started. */
export function secretSweepJob(sweep: Parameters<typeof sweepSecrets>[0] & { logger: Logger }): BackgroundJob {
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

/** Removes secrets without a version whose workflow has ended or is gone. @throws if Temporal cannot be queried */
export async function sweepSecrets(
  { pool, client, mode }: { pool: pg.Pool; client: Client; mode: Mode },
  olderThanMs = SETTLED_AFTER_MS,
): Promise<number> {
  const byWorkflow = new Map<string | null, string[]>();
  for (const { workflowId, secretRef } of await orphanedSecrets(pool, mode, olderThanMs)) {
    byWorkflow.set(workflowId, [...(byWorkflow.get(workflowId) ?? []), secretRef]);
  }
  let removed = 0;
  for (const [workflowId, secretRefs] of byWorkflow) {
    if (workflowId !== null && (await describeRun(client, workflowId)).status === 'running') continue;
    removed += await removeOrphanedSecrets(pool, secretRefs);
  }
  return removed;
}

/** Publishes the vault's key, repeatedly, because whoever replaced it could read submitted passwords. */
export function vaultKeyJob({
  vault,
  pool,
  mode,
  logger,
}: Pick<Deps, 'vault' | 'pool' | 'mode' | 'logger'>): BackgroundJob {
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

/** Reads the template daily (spec: "GET /irm/bulk-template"); one that lacks a documented label is not used. */
export function templateReading(
  deps: Pick<Deps, 'pool' | 'mode' | 'api' | 'workbooks' | 'clock' | 'logger'>,
): BackgroundJob {
  const { pool, mode, api, workbooks, clock, logger } = deps;
  return {
    id: 'read_template',
    name: 'read the labels of the bulk template',
    // Often, because until the template is known, workbooks with a user's own columns are refused over HTTP.
    everyMs: MINUTE_MS,
    async run(signal) {
      const at = new Date(clock());
      const exporterId = await claimTemplateReading(pool, { mode, at, maxAgeMs: DAY_MS, retryMs: 5 * MINUTE_MS });
      if (exporterId === null) return;
      const bytes = await api.irmTemplate(exporterId, (body) => buffer(body), { exporterId, signal });
      const labels = await workbooks.templateLabels(bytes);
      const problem = templateProblem(labels);
      if (problem === null) await saveBulkTemplate(pool, mode, labels, at);
      else logger.warn({ problem, labels: labels.length }, 'the bulk template was not used');
    },
  };
}

/** Registers search attributes that disappeared (an emptied server), because setting one would fail workflow tasks. */
export function searchAttributesJob(client: Client, namespace: string, logger: Logger): BackgroundJob {
  return {
    id: 'search_attributes',
    name: 'register search attributes that are gone',
    everyMs: MINUTE_MS,
    run: async () => void (await ensureSearchAttributes(client.connection, namespace, logger)),
  };
}

/** Workbooks that were checked on a page are kept this long; a filing keeps its own copy. */
const HANDED_IN_KEPT_MS = DAY_MS;

/** Removes old rows and workbooks, which would otherwise grow without limit. */
export function cleaningJobs({
  pool,
  documents,
  logger,
}: Pick<Deps, 'pool' | 'documents' | 'logger'>): BackgroundJob[] {
  return [
    {
      id: 'prune_handed_in',
      name: 'remove workbooks that were checked on a page a day ago',
      everyMs: HOUR_MS,
      run: async () =>
        logRemoved(await documents.removeHandedIn(new Date(Date.now() - HANDED_IN_KEPT_MS)), 'workbooks handed in'),
    },
    {
      id: 'prune',
      name: 'remove rows that are older than they are kept',
      everyMs: DAY_MS,
      run: async () => {
        for (const [what, rows] of Object.entries(await removeOldRows(pool))) logRemoved(rows, what);
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
    if (rows > 0) logger.info({ rows, what }, 'what is kept for a time was removed');
  }
}

/** A larger difference is logged. */
const NOTABLE_MS = 5_000;

/**
 * The machine's clock, corrected by PostgreSQL's. A sender with a clock hours behind would mark its send too early, and
 * the settle window would seem over. @param own the machine's clock
 */
export function createLedgerClock(options: { db: Queryable; logger: Logger; own?: () => number }): {
  now: () => number;
  /** Compares the clocks; must have run once before the worker takes tasks. */
  job: BackgroundJob;
} {
  const { db, logger, own = Date.now } = options;
  let off = 0;
  return {
    now: () => own() + off,
    job: {
      id: 'ledger_clock',
      name: 'compare the clock with PostgreSQL’s',
      everyMs: MINUTE_MS,
      run: async () => {
        const asked = own();
        const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
        const answered = own();
        const theirs = rows[0]?.now.getTime() ?? answered;
        // PostgreSQL read its clock between `asked` and `answered`: only a time outside of that interval differs.
        off = Math.max(0, theirs - answered) + Math.min(0, theirs - asked);
        if (Math.abs(off) > NOTABLE_MS) logger.warn({ offMs: off }, 'this clock is wrong: PostgreSQL’s is used');
      },
    },
  };
}

/** Allows several attempts of the AWS SDK. */
const ANSWERS_WITHIN_MS = 30_000;

/** Checks that the store can be written, read and listed, and is the ledger's. The probe reports the last result. */
export function watchDocumentStore(options: {
  pool: pg.Pool;
  documents: DocumentStore;
  metrics: Pick<Metrics, 'set'>;
}): { job: BackgroundJob; probe: Probe } {
  const { pool, documents, metrics } = options;
  let usable: boolean | undefined;
  let ours = false;
  const note = (isUsable: boolean) => {
    usable = isUsable;
    metrics.set('ebrc_document_store_up', isUsable ? 1 : 0);
  };
  // A hanging call occupies a thread, so no other is made before it ends.
  let running: Promise<void> | undefined;
  const useOnce = () => (running ??= documents.probe().finally(() => (running = undefined)));
  return {
    job: {
      id: 'document_store',
      name: 'see whether the document store can be used and is the one of the ledger',
      everyMs: MINUTE_MS,
      run: async () => {
        try {
          const late = () => new Error(`It has not answered within ${ANSWERS_WITHIN_MS / 1_000} s.`);
          await within(ANSWERS_WITHIN_MS, useOnce(), late);
          const ledgerId = await readLedgerId(pool);
          // Once it was ours, an empty one is a folder that is not mounted.
          const owner = ours ? await documents.owner() : await documents.claim(ledgerId);
          if (owner !== ledgerId) {
            throw new Error(
              `EBRC_DOCUMENTS has the documents of ${owner ?? 'no ledger'}, not those of ledger ${ledgerId}.`,
            );
          }
          ours = true;
          note(true);
        } catch (error) {
          note(false);
          throw error;
        }
      },
    },
    probe: {
      name: 'documents',
      look: () => {
        if (usable) return Promise.resolve('can be written, read and listed');
        const message = usable === undefined ? 'not seen yet' : 'the document store cannot be used; the log says why';
        return Promise.reject(new NotReady(message));
      },
    },
  };
}
