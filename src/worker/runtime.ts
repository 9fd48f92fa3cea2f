import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config/config';
import { createMetrics, metricsOptions, type Metrics } from './metrics/metrics';
import { temporalLogger } from './temporal-logger';

/**
 * Makes Temporal's runtime of this process: its log lines come through `logger`, and its metrics and ours are served
 * where EBRC_METRICS says. Before anything else of the SDK, which would make one of its own.
 * @throws Error when the address of EBRC_METRICS cannot be listened on
 */
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
