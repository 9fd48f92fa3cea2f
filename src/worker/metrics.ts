/** All metrics of this project, beside the SDK's (`temporal_…`). Dashboards use these names. */
import type { MetricMeter, MetricTags } from '@temporalio/common';
import type { RuntimeOptions } from '@temporalio/worker';
import type { ListenAddress } from '../config/listen-address';
import { RATE_CLASSES, type Mode } from '../domain/names';

/** Gauges that the leading worker reads from the ledger; 0 or absent in the others, so take `max` over workers. */
export const LEDGER_GAUGES = {
  ebrc_figures_read_timestamp_seconds: 'When these figures were read from PostgreSQL last',
  ebrc_filings: 'Filings by state',
  ebrc_filing_oldest_seconds: 'Age of the oldest open filing of a state; 0 where there is none',
  ebrc_filings_needing_attention: 'Open filings that need a person',
  ebrc_filings_past_due: 'Open filings that have not moved for longer than their state allows',
  ebrc_filings_with_run_problem: 'Open filings whose workflow is gone, or fails at every try',
  ebrc_question_oldest_seconds: 'Age of the oldest open question or finding that nobody acknowledged',
  ebrc_event_unplaced_seconds: 'How long the oldest event has waited for its place in the feed',
  ebrc_database_connections: 'Connections of the PostgreSQL server: in use, and the most it takes',
  ebrc_ledger_whole: '1 while the ledger is known to have all that Temporal knows: otherwise nothing is sent',
  ebrc_unknown_rows: 'Rows of which it is not known whether they were filed',
  ebrc_open_requests: 'Requests that are being polled',
  ebrc_acknowledgement_seconds: 'Time from submission to outcome in the last 24 hours, by quantile',
  ebrc_budget_slots: 'Calls that a rate class may make in a window',
  ebrc_budget_slots_used: 'Calls that the service may still count in the window',
  ebrc_budget_waiting: 'Calls that wait for a slot in worker processes',
  ebrc_quota: 'What the contract with the service includes: certificates of a month, and exporters',
  ebrc_quota_used: 'What is used of it: certificates of this month, and exporters',
  ebrc_certificates: 'Certificates that the ledger knows',
  ebrc_certificate_pdfs: 'Certificates by what became of their PDF: stored, missing or damaged',
  ebrc_findings: 'Open findings of reconciliations that nobody acknowledged',
  ebrc_finding_oldest_seconds: 'Age of the oldest open finding of a kind; 0 where there is none',
} as const;

/** Gauges of this process. */
export const PROCESS_GAUGES = {
  ebrc_ledger_up: '1 while this worker reaches PostgreSQL',
  ebrc_document_store_up: '1 while this worker can write, read and list the document store of the ledger',
  ebrc_job_last_success_timestamp_seconds: 'When a background job of this worker last succeeded',
  ebrc_event_loop_delay_seconds: 'Longest delay of the event loop since the last reading',
  ebrc_process_start_timestamp_seconds: 'When this process started',
  ebrc_tls_expiry_timestamp_seconds: 'When the client certificate for Temporal ends; 0 where there is none',
  ebrc_memory_limit_bytes: 'Memory that this process may hold',
  ebrc_resident_memory_bytes: 'Memory that this process holds',
} as const;

/** Counters, exported with the suffix `_total`. */
export const COUNTERS = {
  ebrc_api_calls: 'Calls to the service by operation and kind of error (ok for none)',
  ebrc_rate_limit_refusals: '429 answers: something else uses the key',
  ebrc_vault_failures: 'Stored passwords that did not open',
  ebrc_codec_failures: 'Payloads that did not open',
  ebrc_job_runs: 'Runs of background jobs by outcome',
  ebrc_sweep_filings:
    'Filings that the sweep gave a new run, whose failing run it replaced, or that it reported to a person',
} as const;

export const HISTOGRAMS = {
  ebrc_api_call_seconds: 'Time of a call to the service',
  ebrc_budget_wait_seconds: 'Wait for a slot of a rate class',
  ebrc_poll_lag_seconds: 'How late a poll began after it was due',
} as const;

/** Upper bounds of the buckets, in seconds. */
const BUCKETS: Record<keyof typeof HISTOGRAMS, number[]> = {
  ebrc_api_call_seconds: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  ebrc_budget_wait_seconds: [0.1, 1, 5, 15, 30, 60, 120, 300, 900],
  ebrc_poll_lag_seconds: [0.1, 1, 5, 15, 60, 300, 900, 3600],
};

export interface Metrics {
  count(name: keyof typeof COUNTERS, tags?: MetricTags, by?: number): void;
  observe(name: keyof typeof HISTOGRAMS, seconds: number, tags?: MetricTags): void;
  set(name: keyof typeof LEDGER_GAUGES | keyof typeof PROCESS_GAUGES, value: number, tags?: MetricTags): void;
}

/** The SDK serves its metrics and ours from its own threads, even while the event loop is blocked. */
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
      histogramBucketOverrides: BUCKETS,
    },
  };
}

/** @param meter `Runtime.instance().metricMeter` */
export function createMetrics(meter: MetricMeter): Metrics {
  const createAll = <K extends string, M>(definitions: Record<K, string>, make: (name: K, help: string) => M) =>
    new Map((Object.entries(definitions) as [K, string][]).map(([name, help]) => [name, make(name, help)]));

  const counters = createAll(COUNTERS, (name, help) => meter.createCounter(name, undefined, help));
  const histograms = createAll(HISTOGRAMS, (name, help) => meter.createHistogram(name, 'float', undefined, help));
  const gauges = createAll({ ...LEDGER_GAUGES, ...PROCESS_GAUGES }, (name, help) =>
    meter.createGauge(name, 'float', undefined, help),
  );
  // Start at 0, because a counter that first appears with a value shows no increase to an alert.
  const beginAtZero = (name: keyof typeof COUNTERS, label: string, values: readonly string[]) => {
    for (const value of values) counters.get(name)?.add(0, { [label]: value });
  };
  beginAtZero('ebrc_rate_limit_refusals', 'rate_class', RATE_CLASSES);
  beginAtZero('ebrc_sweep_filings', 'what', ['resumed', 'replaced', 'reported']);
  beginAtZero('ebrc_vault_failures', 'reason', ['secret_missing', 'key_missing', 'unreadable']);
  beginAtZero('ebrc_codec_failures', 'reason', ['key_missing', 'unreadable']);
  return {
    count: (name, tags, by = 1) => counters.get(name)?.add(by, tags),
    // `Math.max`: a clock that was set back must not cause an error.
    observe: (name, seconds, tags) => histograms.get(name)?.record(Math.max(0, seconds), tags),
    set: (name, value, tags) => gauges.get(name)?.set(value, tags),
  };
}
