#!/usr/bin/env node
/** The worker: configuration → servers → dependencies → one worker per task queue → orderly shutdown. */
// Imported first, so that signals are handled while the rest is still loading.
import { onStopSignal } from './worker/stop-signal';
import { access } from 'node:fs/promises';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { dataConverterOf } from './encryption/payload-codec';
import { ConfigError, loadConfig, type Config } from './config/config';
import { migrate } from './ledger/migrate';
import { createPool } from './ledger/pool';
import { refuseSharedSessions } from './ledger/diagnosis';
import { LedgerUnavailableError } from './ledger/unavailable';
import { loadTelemetry, NO_TRACES, type Tracer } from './telemetry/tracer';
import { createLogger } from './telemetry/logger';
import type { Telemetry } from './telemetry/open-telemetry';
import { postgresqlProbe, temporalProbe } from './telemetry/readiness';
import { startBackgroundJobs } from './worker/background-jobs';
import { pollersProbe, startHealthServer, type HealthServer } from './worker/health';
import { installRuntime, limitHeaps } from './worker/runtime';
import { observeJob } from './worker/observe';
import { compose } from './worker/compose';
import { createWorkers } from './worker/create-workers';
import { connect, ensureSearchAttributes } from './temporal/connect';
import { once } from './domain/values';
import { CLOSE_WITHIN_MS, runAll, shutdownTimes, succeedsWithin, waitFor } from './worker/lifecycle';
import { workflowBundlePath } from './worker/workflows-bundle';

const EXIT_CONFIGURATION = 2;
const PROBE_TIMEOUTS = { connectMs: 2_500, statementMs: 2_500, queryMs: 2_500 };

async function run(config: Config, logger: Logger, telemetry: Telemetry | null): Promise<void> {
  const codePath = workflowBundlePath({ encrypted: config.payloadKeys.length > 0, traced: telemetry !== null });
  await access(codePath).catch(() => {
    throw new Error(`The workflow bundle is missing (${codePath}). Run: npm run build`);
  });
  for (const warning of config.warnings) logger.warn({ problem: warning }, 'a setting to know of');
  limitHeaps();
  const metrics = installRuntime(config, logger);

  const health = await startHealth(config, logger);
  const pool = createPool({
    url: config.databaseUrl,
    applicationName: 'ebrc-worker',
    // The health probe has one more.
    max: config.databasePool - 1,
    // Keep two open: an idle worker uses one to wait for leadership and one to compare its clock each minute.
    min: 2,
    tracer: telemetry?.tracer,
    onIdleError: (error) => logger.warn({ err: error }, 'a database connection was lost; it is replaced'),
  });
  const { address, namespace, connectionOptions } = config.temporal;
  const database = {
    name: 'PostgreSQL',
    address: hostOf(config.databaseUrl),
    hint: 'Check DATABASE_URL and that the server runs.',
  };
  // A failed migration is reported at once; a temporarily unavailable PostgreSQL is waited for.
  const passes = (error: unknown) => error instanceof LedgerUnavailableError;
  await waitFor(
    database,
    async () => {
      await refuseSharedSessions(pool);
      return migrate(pool, { log: (what) => logger.info({ what }, 'the ledger was migrated') });
    },
    logger,
    { passes },
  );
  const temporal = { name: 'Temporal', address, hint: 'Check TEMPORAL_ADDRESS and that the server runs.' };
  const connection = await waitFor(temporal, () => connect(connectionOptions), logger);
  const native = await waitFor(temporal, () => NativeConnection.connect(connectionOptions), logger);
  const searchAttributes = await ensureSearchAttributes(connection, namespace, logger);

  const converterOf = (plaintext: 'refused' | 'replaced') =>
    dataConverterOf(config.payloadKeys, {
      plaintext: config.payloads === 'any' ? 'taken' : plaintext,
      onUnreadable: (error) => {
        metrics.count('ebrc_codec_failures', { reason: error.code });
        logger.error({ code: error.code, why: error.message }, 'a payload does not open');
      },
    });
  const interceptors = { workflow: telemetry ? [telemetry.clientInterceptor] : [] };
  const client = new Client({ connection, namespace, dataConverter: converterOf('refused'), interceptors });
  const composition = compose({ config, pool, logger, searchAttributes, client, metrics, tracer: telemetry?.tracer });
  const { deps, budget } = composition;
  await waitFor(database, () => composition.beforeWork(), logger, { passes });
  const workers = await createWorkers({
    connection: native,
    namespace,
    taskQueue: config.taskQueue,
    workflowBundle: { codePath },
    cachedWorkflows: config.cachedWorkflows,
    dataConverter: converterOf('replaced'),
    deps,
    budget,
    metrics,
    telemetry,
    deployment: config.deployment,
  });
  // The probe has its own connection, because a pool whose connections are all busy is loaded, not broken.
  const probed = createPool({
    url: config.databaseUrl,
    applicationName: 'ebrc-health',
    max: 1,
    timeouts: PROBE_TIMEOUTS,
  });
  health?.watch([postgresqlProbe(probed), temporalProbe(client), pollersProbe(workers), composition.documentsProbe]);
  const jobs = startBackgroundJobs(composition.jobs, logger, (outcome) => observeJob(metrics, outcome));
  const stop = once(async () => {
    logger.info('stopping: calls under way are finished');
    health?.stopping();
    endWithin(shutdownTimes(config.httpTimeoutMs).boundMs, logger);
    // Cancel waiting calls first, because Temporal cancels activities only after the grace time.
    await Promise.all([budget.stop(), jobs.stop()]);
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  });
  onStopSignal(() => void stop());
  logger.info(
    {
      ...{ address, namespace, taskQueue: config.taskQueue, apiUrl: config.apiUrl, mode: config.mode },
      documents: config.documents.split('?', 1)[0],
    },
    'worker started',
  );
  try {
    await runAll(workers, stop);
  } finally {
    const closing = composition
      .close()
      .then(() => Promise.all([connection.close(), native.close(), pool.end(), probed.end(), health?.close()]))
      .then(() => telemetry?.close())
      .catch((error: unknown) => logger.warn({ err: error }, 'not everything could be closed in order'));
    const inTime = await succeedsWithin(CLOSE_WITHIN_MS, closing);
    logger.info({ inTime }, 'worker stopped');
  }
}

async function startHealth({ observability }: Config, logger: Logger): Promise<HealthServer | undefined> {
  if (!observability.health) return undefined;
  const health = await startHealthServer(observability.health);
  logger.info({ host: health.host, port: health.port }, 'health is served: /healthz and /readyz');
  return health;
}

/** Ends the process as a last resort, because a server that drops every packet could keep it alive. */
function endWithin(boundMs: number, logger: Logger): void {
  const end = () => {
    logger.fatal({ boundMs }, 'the worker did not stop in time; it ends without having finished');
    process.exit(1);
  };
  setTimeout(end, boundMs).unref();
}

/** Host and database of a connection string, without user and password. */
function hostOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
}

function main(): void {
  let config: Config;
  try {
    config = loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = EXIT_CONFIGURATION;
    return;
  }
  let tracer: Tracer = NO_TRACES;
  const logger = createLogger({
    level: config.logLevel,
    name: 'ebrc-worker',
    tracer: { current: () => tracer.current() },
  });
  const start = async () => {
    const telemetry = await loadTelemetry(config.tracesEndpoint, {
      service: 'ebrc-worker',
      onLost: (reason) => logger.warn({ reason }, 'traces could not be sent'),
    });
    if (telemetry) {
      tracer = telemetry.tracer;
      logger.info({ url: config.tracesEndpoint }, 'traces are sent');
    }
    await run(config, logger, telemetry);
  };
  start().then(
    () => process.exit(0),
    (error: unknown) => {
      logger.fatal({ err: error }, 'the worker failed');
      process.exit(1);
    },
  );
}

main();
