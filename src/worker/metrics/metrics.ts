import type { MetricMeter, MetricTags } from '@temporalio/common';
import type { RuntimeOptions } from '@temporalio/worker';
import type { ListenAddress } from '../../config/listen-address';
import { RATE_CLASSES, type Mode } from '../../domain/names';
import {
  COUNTERS,
  HISTOGRAMS,
  LEDGER_GAUGES,
  PROCESS_GAUGES,
  type CounterName,
  type GaugeName,
  type HistogramName,
} from './catalogue';

/** The instruments of {@link catalogue}; each is created once. */
export interface Metrics {
  count(name: CounterName, tags?: MetricTags, by?: number): void;
  observe(name: HistogramName, seconds: number, tags?: MetricTags): void;
  set(name: GaugeName, value: number, tags?: MetricTags): void;
}

/**
 * Options with which Temporal's SDK serves metrics at one address: its own, and those created with its meter. It
 * answers from its own threads, so it works while the event loop is blocked. Undefined if no address is given; its
 * meter then records nothing.
 */
export function metricsOptions(
  address: ListenAddress | undefined,
  mode: Mode,
): NonNullable<RuntimeOptions['telemetryOptions']>['metrics'] {
  if (!address) return undefined;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    globalTags: { mode },
    prometheus: {
      bindAddress: `${host}:${address.port}`,
      countersTotalSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: Object.fromEntries(
        Object.entries(HISTOGRAMS).map(([name, { buckets }]) => [name, [...buckets]]),
      ),
    },
  };
}

/** @param meter `Runtime.instance().metricMeter` */
export function createMetrics(meter: MetricMeter): Metrics {
  const each = <K extends string, D extends { help: string }, M>(
    definitions: Record<K, D>,
    make: (name: K, help: string) => M,
  ) => new Map((Object.entries(definitions) as [K, D][]).map(([name, { help }]) => [name, make(name, help)]));

  const counters = each(COUNTERS, (name, help) => meter.createCounter(name, undefined, help));
  const histograms = each(HISTOGRAMS, (name, help) => meter.createHistogram(name, 'float', undefined, help));
  const gauges = each({ ...LEDGER_GAUGES, ...PROCESS_GAUGES }, (name, help) =>
    meter.createGauge(name, 'float', undefined, help),
  );
  // Created at the start: a counter that first appears with a value has no increase that an alert could detect.
  const beginAtZero = (name: CounterName, label: string, values: readonly string[]) => {
    for (const value of values) counters.get(name)?.add(0, { [label]: value });
  };
  beginAtZero('ebrc_rate_limit_refusals', 'rate_class', RATE_CLASSES);
  beginAtZero('ebrc_sweep_filings', 'what', ['resumed', 'reported']);
  beginAtZero('ebrc_vault_failures', 'reason', ['secret_missing', 'key_missing', 'unreadable']);
  beginAtZero('ebrc_codec_failures', 'reason', ['key_missing', 'unreadable']);
  return {
    count: (name, tags, by = 1) => counters.get(name)?.add(by, tags),
    // A clock that went back must not cause an error while a call is being made.
    observe: (name, seconds, tags) => histograms.get(name)?.record(Math.max(0, seconds), tags),
    set: (name, value, tags) => gauges.get(name)?.set(value, tags),
  };
}
