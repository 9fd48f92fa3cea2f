/** Builds the dependencies of the activities from the configuration. */
import { randomUUID } from 'node:crypto';
import { SEARCH_ATTRIBUTES } from '../domain/names';
import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Deps } from '../activities/dependencies';
import { accessOf } from '../assistant/extraction/activities';
import { createBudget, hashOfKey, type StoppableBudget } from '../budget/budget';
import { createFilingApi } from '../api/client';
import { createExtractionApi } from '../api/endpoints/extraction';
import type { CallerOptions } from '../api/http/call';
import { filingSettings, type Config } from '../config/config';
import { createDocumentStore } from '../documents/document-store';
import { createApiCallAudit } from '../ledger/service/api-calls';
import { createBudgetStore, readBudgetUsage } from '../budget/store';
import { filingForRun } from '../ledger/runs';
import { createSeenTime, readLedgerTime } from '../ledger/time';
import { createVault } from '../ledger/vault/vault';
import { beatJob, comparisonJob, compareLedger } from '../temporal/comparison';
import { poke, pokeOrStart } from '../temporal/runs';
import { sweepJob } from '../temporal/sweep';
import { createReportThread } from '../reports/render';
import type { Tracer } from '../telemetry/tracer';
import { relayEvents } from '../ledger/events';
import { createWorkbookThreads } from '../workbook/workbooks';
import type { Probe } from '../telemetry/readiness';
import { leaderJob, type BackgroundJob } from './background-jobs';
import {
  cleaningJobs,
  createLedgerClock,
  searchAttributesJob,
  secretSweepJob,
  templateReading,
  vaultKeyJob,
  watchDocumentStore,
} from './jobs';
import { figuresJob, processJob, budgetMetrics, countingVault, observeCall, observeJob, observeSweep } from './observe';
import type { Metrics } from './metrics';
import { deliverWebhooks } from './webhooks/deliver';
import { createWebhookSender } from './webhooks/send';

export function compose(args: {
  config: Config;
  pool: pg.Pool;
  logger: Logger;
  searchAttributes: readonly string[];
  client: Client;
  metrics: Metrics;
  /** Traces calls, if given. */
  tracer?: Tracer;
}): {
  deps: Deps;
  budget: StoppableBudget;
  jobs: BackgroundJob[];
  /** Reports what the job last found about the document store. */
  documentsProbe: Probe;
  /** Runs the jobs that must have run once before the worker takes tasks. */
  beforeWork(): Promise<void>;
  /** Closes everything that was created, in order, once no activity is running. */
  close(): Promise<void>;
} {
  const { config, pool, logger, searchAttributes, client, metrics, tracer } = args;
  const audit = createApiCallAudit({
    pool,
    mode: config.mode,
    onLost: (rows: unknown, error: unknown) => logger.warn({ rows, err: error }, 'audit rows were lost'),
  });
  const keyHash = hashOfKey(config.apiKey);
  const store = createBudgetStore({ pool, keyHash, owner: randomUUID() });
  const budget = createBudget({
    store,
    windowMs: config.rateWindowMs,
    metrics: budgetMetrics(metrics, (rateClass) =>
      logger.warn({ rateClass }, 'the service answered 429: something else uses this key'),
    ),
    onLostReport: (error) =>
      logger.warn({ err: error }, 'what became of a call could not be stored; its slot stays used'),
  });
  const api = createFilingApi({
    baseUrl: config.apiUrl,
    apiKey: config.apiKey,
    httpTimeoutMs: config.httpTimeoutMs,
    budget,
    audit: (row) => {
      observeCall(metrics, row);
      audit.recordApiCall(row);
    },
    logger,
    tracer,
  });
  const extraction = extractionOf(config, { audit: (row) => audit.recordApiCall(row), logger, tracer });
  const workbooks = createWorkbookThreads();
  const reports = createReportThread();
  const clock = createLedgerClock({ db: pool, logger });
  const deps: Deps = {
    mode: config.mode,
    pool,
    api,
    vault: countingVault(createVault({ keys: config.encryptionKeys }), metrics),
    documents: createDocumentStore({ root: config.documents }),
    workbooks,
    reports,
    quota: config.quota,
    temporalUi: config.temporalUi ? { address: config.temporalUi, namespace: config.temporal.namespace } : undefined,
    clock: clock.now,
    logger,
    settings: filingSettings(config),
    searchAttributes,
    seen: createSeenTime(),
    queueing: async () =>
      new Map((await readBudgetUsage(pool, keyHash)).map(({ rateClass, waiting }) => [rateClass, waiting])),
    poke: (workflowId) => tried('a filing was not woken', () => poke(client, workflowId)),
    pokeOrStart: (filingId) =>
      tried('wake a filing', async () => {
        const filing = await filingForRun(pool, filingId);
        if (filing) await pokeOrStart(client, config.taskQueue, filing);
      }),
    extraction,
  };
  const sender = createWebhookSender({ hosts: config.webhookHosts });
  const webhooks = { pool, mode: config.mode, vault: deps.vault, sender, logger };
  const documentStore = watchDocumentStore({ pool, documents: deps.documents, metrics });
  const vaultKey = vaultKeyJob(deps);
  const runs = { pool, temporal: client, mode: config.mode, taskQueue: config.taskQueue, logger };
  const { settleAfterMs } = config;
  async function tried(what: string, work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) =>
      logger.warn({ err: error, job: what }, 'what follows a step failed, and is done again later'),
    );
  }

  const neverAborted = new AbortController().signal;
  return {
    budget,
    documentsProbe: documentStore.probe,
    beforeWork: async () => {
      await clock.job.run(neverAborted);
      await vaultKey.run(neverAborted);
      // An older copy of the ledger shows in no epoch, and nothing is sent from it. Otherwise the job compares.
      const time = await readLedgerTime(pool, config.mode);
      deps.seen.note(time);
      if (time.whole) await compareLedger(runs);
    },
    jobs: [
      vaultKey,
      clock.job,
      beatJob({ pool, mode: config.mode, seen: deps.seen, logger, settleAfterMs }),
      leaderJob({
        pool,
        mode: config.mode,
        logger,
        onRun: (outcome) => observeJob(metrics, outcome),
        jobs: [
          ...cleaningJobs(deps),
          {
            id: 'relay_events',
            name: 'give events their positions',
            everyMs: 1_000,
            run: (signal) => relayEvents(pool, signal),
          },
          {
            id: 'webhooks',
            name: 'tell endpoints what happened',
            everyMs: 1_000,
            run: (signal) => deliverWebhooks(webhooks, signal),
          },
          secretSweepJob({ pool, client, mode: config.mode, logger }),
          comparisonJob({ ...runs, settleAfterMs }),
          sweepJob(runs, (swept) => observeSweep(metrics, swept)),
          templateReading(deps),
          ...(searchAttributes.length === Object.keys(SEARCH_ATTRIBUTES).length
            ? [searchAttributesJob(client, config.temporal.namespace, logger)]
            : []),
          ...(config.observability.metrics
            ? [figuresJob({ pool, mode: config.mode, keyHash, metrics, quota: config.quota })]
            : []),
        ],
      }),
      documentStore.job,
      ...(config.observability.metrics
        ? [processJob({ pool, metrics, tls: config.temporal.connectionOptions.tls })]
        : []),
    ],
    deps,
    close: async () => {
      await Promise.all([workbooks.close(), reports.close()]);
      await api.close();
      await sender.close();
      await extraction?.api.close();
      await budget.close();
      await audit.close();
    },
  };
}

/** Only a few calls run in parallel, over all workers, because the service documents no limits. */
const EXTRACTION_PACE = { atOnce: 3, pauseMs: 5_000 };

function extractionOf(
  config: Config,
  observers: Pick<CallerOptions, 'audit' | 'logger' | 'tracer'>,
): Deps['extraction'] {
  if (!config.extraction) return undefined;
  const { url, key, version } = config.extraction;
  return {
    api: createExtractionApi({ baseUrl: url, apiKey: key, httpTimeoutMs: config.httpTimeoutMs, ...observers }),
    service: `${url} ${version}`,
    access: accessOf(url, key),
    pace: EXTRACTION_PACE,
  };
}
