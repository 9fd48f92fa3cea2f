import { setFlagsFromString } from 'node:v8';
import { Runtime, type Logger as TemporalLogger, type LogLevel, type LogMetadata } from '@temporalio/worker';
import type { Logger } from 'pino';
import { failureForLog, failureInDebugText } from '../temporal/failing';
import type { Config } from '../config/config';
import { createMetrics, metricsOptions, type Metrics } from './metrics';

const LEVELS: Readonly<Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'>> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Warnings at every start about task queues with activities only, which is intended. */
const EXPECTED_WARNING = /^No (workflows|Nexus services) registered/;

/** Lines of every waiting call, every few seconds, while Temporal is away. Logged once, until none came for a while. */
const RETRIED = /^gRPC call \w+ retried/;
const QUIET_MS = 60_000;

/** A workflow task, or a query, that failed: the SDK gives the failure as one text. */
const FAILING = /^Failing (workflow task|legacy query)/;

/** The run and the failure of such a line, without names and amounts. */
function failingFields({ run_id: runId, failure, ...meta }: LogMetadata): LogMetadata {
  const error = failureInDebugText(String(failure ?? ''));
  return { ...meta, runId: runId as unknown, ...(error !== null && { problem: failureForLog(error) }) };
}

/** Passes Temporal's log lines to our logger, so that they are masked and filtered like all others. */
export function temporalLogger(logger: Logger, now = Date.now): TemporalLogger {
  let retriedAt = -Infinity;
  const log = (level: LogLevel, message: string, meta: LogMetadata = {}) => {
    const before = retriedAt;
    const retried = RETRIED.test(message);
    if (retried) retriedAt = now();
    const quiet = EXPECTED_WARNING.test(message) || (retried && retriedAt - before < QUIET_MS);
    const text = retried ? `Temporal does not answer; it is asked again until it does: ${message}` : message;
    const fields = FAILING.test(message) ? failingFields(meta) : meta;
    logger[LEVELS[quiet ? 'DEBUG' : level]](fields, text);
  };
  return {
    log,
    trace: (message, meta) => log('TRACE', message, meta),
    debug: (message, meta) => log('DEBUG', message, meta),
    info: (message, meta) => log('INFO', message, meta),
    warn: (message, meta) => log('WARN', message, meta),
    error: (message, meta) => log('ERROR', message, meta),
  };
}

/** Semi-space of a thread's heap in MB. With V8's default of 16, short-lived objects take several times as much. */
const SEMI_SPACE_MB = 4;

/**
 * Lets V8 grow heaps in small steps, because it otherwise keeps hundreds of MB of garbage after a burst. Threads that
 * start later get a small young generation. Costs a tenth of the CPU time.
 */
export function limitHeaps(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString(`--max-semi-space-size=${SEMI_SPACE_MB}`);
}

/** Installs Temporal's runtime before the SDK creates a default one. @throws Error if EBRC_METRICS cannot be served */
export function installRuntime({ observability, mode }: Config, logger: Logger): Metrics {
  const address = observability.metrics;
  try {
    Runtime.install({
      logger: temporalLogger(logger),
      telemetryOptions: { logging: { filter: 'WARN', forward: {} }, metrics: metricsOptions(address, mode) },
    });
  } catch (error) {
    if (!address) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`EBRC_METRICS: cannot serve metrics on ${address.host}:${address.port}: ${why}`, { cause: error });
  }
  if (address) logger.info({ host: address.host, port: address.port }, 'metrics are served: /metrics');
  return createMetrics(Runtime.instance().metricMeter);
}
