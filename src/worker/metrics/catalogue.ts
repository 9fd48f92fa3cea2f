/**
 * All metrics of this project; dashboards and alerts use these names. The metrics of Temporal's SDK (`temporal_…`) are
 * served at the same address. Labels contain classes, states and kinds, never names, numbers or ids of filings.
 */

interface Definition {
  /** The text of `# HELP`. */
  help: string;
}
interface HistogramDefinition extends Definition {
  /** Upper bounds, in seconds. */
  buckets: readonly number[];
}

/** Read from the ledger: every worker of a ledger shows the same values, so take `max`, never `sum`, over workers. */
export const LEDGER_GAUGES = {
  ebrc_ledger_up: { help: '1 while the last reading of these figures from PostgreSQL succeeded' },
  ebrc_figures_read_timestamp_seconds: { help: 'When these figures were read from PostgreSQL last' },
  ebrc_filings: { help: 'Filings by state' },
  ebrc_filing_oldest_seconds: { help: 'Age of the oldest open filing of a state; 0 where there is none' },
  ebrc_filings_needing_attention: { help: 'Open filings that need a person' },
  ebrc_filings_past_due: { help: 'Open filings that have not moved for longer than their state allows' },
  ebrc_filings_with_run_problem: { help: 'Open filings whose workflow failed, is gone or does not move' },
  ebrc_unknown_rows: { help: 'Rows of which it is not known whether they were filed' },
  ebrc_open_requests: { help: 'Requests that are being polled' },
  ebrc_acknowledgement_seconds: { help: 'Time from submission to outcome in the last 24 hours, by quantile' },
  ebrc_budget_slots: { help: 'Calls that a rate class may make in a window' },
  ebrc_budget_slots_used: { help: 'Calls that the service may still count in the window' },
  ebrc_budget_waiting: { help: 'Calls that wait for a slot in worker processes' },
  ebrc_certificates: { help: 'Certificates that the ledger knows' },
  ebrc_certificate_pdfs: { help: 'Certificates by what became of their PDF: stored, missing or damaged' },
  ebrc_findings: { help: 'Open findings of reconciliations that nobody acknowledged' },
  ebrc_finding_oldest_seconds: { help: 'Age of the oldest open finding of a kind; 0 where there is none' },
} as const satisfies Record<string, Definition>;

/** Of this process. */
export const PROCESS_GAUGES = {
  ebrc_job_last_success_timestamp_seconds: { help: 'When a background job of this worker last succeeded' },
  ebrc_event_loop_delay_seconds: { help: 'Longest delay of the event loop since the last reading' },
  ebrc_resident_memory_bytes: { help: 'Memory that this process holds' },
} as const satisfies Record<string, Definition>;

/** Exported with `_total` behind the name. */
export const COUNTERS = {
  ebrc_api_calls: { help: 'Calls to the service by operation and kind of error (ok for none)' },
  ebrc_rate_limit_refusals: { help: '429 answers: something else uses the key' },
  ebrc_vault_failures: { help: 'Stored passwords that did not open' },
  ebrc_codec_failures: { help: 'Payloads that did not open' },
  ebrc_job_runs: { help: 'Runs of background jobs by outcome' },
  ebrc_sweep_filings: { help: 'Filings that the sweep resumed or reported to a person' },
} as const satisfies Record<string, Definition>;

export const HISTOGRAMS = {
  ebrc_api_call_seconds: { help: 'Time of a call to the service', buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] },
  ebrc_budget_wait_seconds: {
    help: 'Wait for a slot of a rate class',
    buckets: [0.1, 1, 5, 15, 30, 60, 120, 300, 900],
  },
  ebrc_poll_lag_seconds: {
    help: 'How late a poll began after it was due',
    buckets: [0.1, 1, 5, 15, 60, 300, 900, 3600],
  },
} as const satisfies Record<string, HistogramDefinition>;

export type GaugeName = keyof typeof LEDGER_GAUGES | keyof typeof PROCESS_GAUGES;
export type CounterName = keyof typeof COUNTERS;
export type HistogramName = keyof typeof HISTOGRAMS;
