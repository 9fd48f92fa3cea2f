import { setFlagsFromString } from 'node:v8';
import { Runtime, type Logger as TemporalLogger, type LogLevel, type LogMetadata } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config/config';
import { createMetrics, metricsOptions, type Metrics } from './metrics';

const LEVELS: Readonly<Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'>> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** What every start says of queues that have activities alone: as intended, so no warning. */
const INTENDED = /^No (workflows|Nexus services) registered/;

/** What every waiting call says every few seconds while Temporal is away: once is enough, until it was quiet again. */
const RETRIED = /^gRPC call \w+ retried/;
const QUIET_MS = 60_000;

/** Writes Temporal's own log lines with the program's logger, so that they are masked and filtered like all others. */
export function temporalLogger(logger: Logger, now = Date.now): TemporalLogger {
  let retriedAt = -Infinity;
  const log = (level: LogLevel, message: string, meta: LogMetadata = {}) => {
    const before = retriedAt;
    const retried = RETRIED.test(message);
    if (retried) retriedAt = now();
    const quiet = INTENDED.test(message) || (retried && retriedAt - before < QUIET_MS);
    const text = retried ? `Temporal does not answer; it is asked again until it does: ${message}` : message;
    logger[LEVELS[quiet ? 'DEBUG' : level]](meta, text);
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

/** Megabytes in a thread's heap. V8's 16 keep several times as much in soon-garbage objects. */
const SEMI_SPACE_MB = 4;

/**
 * Lets V8 grow heaps in small steps: it otherwise keeps hundreds of MB of garbage after a burst. Threads started later
 * get a small young generation. Costs a tenth of the CPU time.
 */
export function limitHeaps(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString(`--max-semi-space-size=${SEMI_SPACE_MB}`);
}

/** Temporal's runtime, before the SDK makes a default one. @throws Error if it cannot listen on EBRC_METRICS */
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
