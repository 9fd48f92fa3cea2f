import { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import type { ApiCall } from '../domain/service/operations';
import type { Config } from '../config/config';
import { clientCertificateEnds } from '../temporal/connect';
import type { BudgetOptions } from '../budget/budget';
import type { Vault } from '../ledger/vault/vault';
import type { Swept } from '../temporal/sweep';
import type { BackgroundJob } from './background-jobs';
import type { Metrics } from './metrics';
import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type pg from 'pg';
import { FILING_STATES, isEnd } from '../domain/filing/states';
import { RATE_CLASSES, RATE_LIMITS, type Mode } from '../domain/names';
import type { Quota } from '../domain/service/limits';
import { FINDING_KINDS } from '../domain/reconciliation/findings';
import { readBudgetUsage } from '../budget/store';
import { readLedgerTime } from '../ledger/time';
import { readFigures, readHistoryFigures, type HistoryFigures, type LedgerFigures } from '../ledger/figures';

/** Counts a call to the service, from its audit record. */
export function observeCall(metrics: Metrics, { operation, kind, latencyMs }: ApiCall): void {
  metrics.count('ebrc_api_calls', { operation, kind: kind ?? 'ok' });
  metrics.observe('ebrc_api_call_seconds', latencyMs / 1_000, { operation });
}

export function budgetMetrics(
  metrics: Metrics,
  onRefused: (rateClass: string) => void,
): NonNullable<BudgetOptions['metrics']> {
  return {
    granted: (rateClass, ms) => metrics.observe('ebrc_budget_wait_seconds', ms / 1_000, { rate_class: rateClass }),
    refused: (rateClass) => {
      metrics.count('ebrc_rate_limit_refusals', { rate_class: rateClass });
      onRefused(rateClass);
    },
  };
}

/** Wraps a vault to count secrets that cannot be decrypted. */
export function countingVault(vault: Vault, metrics: Metrics): Vault {
  const counted = <A extends unknown[], T>(open: (...args: A) => Promise<T>) => {
    return async (...args: A): Promise<T> => {
      try {
        return await open(...args);
      } catch (error) {
        metrics.count('ebrc_vault_failures', { reason: codeOf(error) });
        throw error;
      }
    };
  };
  return {
    ...vault,
    open: counted((...args: Parameters<Vault['open']>) => vault.open(...args)),
    openForWebhook: counted((...args: Parameters<Vault['openForWebhook']>) => vault.openForWebhook(...args)),
  };
}

/** The error's code as a label. Our codes and PostgreSQL's are short; other texts must not become labels. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'other';
}

export function observeJob(metrics: Metrics, { id, ok }: { id: string; ok: boolean }): void {
  metrics.count('ebrc_job_runs', { job_id: id, outcome: ok ? 'ok' : 'failed' });
  if (ok) metrics.set('ebrc_job_last_success_timestamp_seconds', Date.now() / 1_000, { job_id: id });
}

export function observeSweep(metrics: Metrics, { resumed, replaced, reported }: Swept): void {
  metrics.count('ebrc_sweep_filings', { what: 'resumed' }, resumed.length);
  metrics.count('ebrc_sweep_filings', { what: 'replaced' }, replaced.length);
  metrics.count('ebrc_sweep_filings', { what: 'reported' }, reported.length);
}

/** The polling activity; each retry is a poll. */
const POLL = 'pollStatus';

/** Measures how late polls start after the server's scheduled time of the attempt. */
export class PollLagInterceptor implements ActivityInboundCallsInterceptor {
  constructor(private readonly metrics: Metrics) {}

  execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { activityType, currentAttemptScheduledTimestampMs } = Context.current().info;
    if (activityType === POLL) {
      this.metrics.observe('ebrc_poll_lag_seconds', (Date.now() - currentAttemptScheduledTimestampMs) / 1_000);
    }
    return next(input);
  }
}

const EVERY_MS = 60_000;
/** Figures that count every row ever recorded are read less often. */
const HISTORY_EVERY_MS = 3_600_000;
const NS_PER_SECOND = 1e9;
const STARTED_AT = Date.now() / 1_000 - process.uptime();

/** Sets the ledger gauges, once a minute. */
export function figuresJob(args: {
  pool: pg.Pool;
  mode: Mode;
  keyHash: string;
  metrics: Metrics;
  quota: Quota;
}): BackgroundJob {
  const { pool, mode, keyHash, metrics, quota } = args;
  let historyAt = -Infinity;
  const shown = rememberShown(metrics);
  return {
    id: 'figures',
    name: 'read the figures that metrics show',
    everyMs: EVERY_MS,
    async run(signal) {
      shown.until(signal);
      showFigures(shown.metrics, await readFigures(pool, mode));
      shown.metrics.set('ebrc_ledger_whole', (await readLedgerTime(pool, mode)).whole ? 1 : 0);
      await showBudget(shown.metrics, pool, keyHash);
      if (performance.now() - historyAt >= HISTORY_EVERY_MS) {
        showHistory(shown.metrics, await readHistoryFigures(pool, mode), quota);
        historyAt = performance.now();
      }
      shown.metrics.set('ebrc_figures_read_timestamp_seconds', Date.now() / 1_000);
    },
  };
}

/** Sets all gauges that were set to 0 when a signal aborts: another worker sets them then, and `max` counts. */
function rememberShown(metrics: Metrics): { metrics: Metrics; until: (signal: AbortSignal) => void } {
  const last = new Map<string, Parameters<Metrics['set']>>();
  let watched: AbortSignal | undefined;
  return {
    metrics: {
      ...metrics,
      set: (name, value, tags) => {
        last.set(JSON.stringify([name, tags]), [name, 0, tags]);
        metrics.set(name, value, tags);
      },
    },
    until(signal) {
      if (watched === signal) return;
      watched = signal;
      signal.addEventListener('abort', () => last.forEach((zero) => metrics.set(...zero)), { once: true });
    },
  };
}

/** Sets the gauges of this process, including whether it reaches the ledger, once a minute. */
export function processJob(args: {
  pool: pg.Pool;
  metrics: Metrics;
  tls?: Config['temporal']['connectionOptions']['tls'];
}): BackgroundJob {
  const { pool, metrics, tls } = args;
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  return {
    id: 'process',
    name: 'read the state of this process that metrics show',
    everyMs: EVERY_MS,
    async run() {
      metrics.set('ebrc_event_loop_delay_seconds', delay.max / NS_PER_SECOND);
      delay.reset();
      metrics.set('ebrc_resident_memory_bytes', process.memoryUsage.rss());
      // Without a limit, `constrainedMemory` is far more than the machine has.
      metrics.set('ebrc_memory_limit_bytes', Math.min(process.constrainedMemory() || Infinity, totalmem()));
      metrics.set('ebrc_process_start_timestamp_seconds', STARTED_AT);
      metrics.set('ebrc_tls_expiry_timestamp_seconds', (clientCertificateEnds(tls)?.getTime() ?? 0) / 1_000);
      const reached = pool.query('SELECT 1');
      await reached.then(
        () => metrics.set('ebrc_ledger_up', 1),
        () => metrics.set('ebrc_ledger_up', 0),
      );
      await reached;
    },
  };
}

/** Sets every state and kind each time, because a gauge keeps its last value and must return to 0. */
function showFigures(metrics: Metrics, figures: LedgerFigures): void {
  showFilings(metrics, figures);
  showAcknowledgements(metrics, figures);
  metrics.set('ebrc_event_unplaced_seconds', figures.unplacedSeconds);
  metrics.set('ebrc_database_connections', figures.connections.used, { what: 'used' });
  metrics.set('ebrc_database_connections', figures.connections.most, { what: 'most' });
  metrics.set('ebrc_certificate_pdfs', figures.pdfs.damaged, { state: 'damaged' });
  metrics.set('ebrc_certificate_pdfs', figures.pdfs.missing, { state: 'missing' });
  for (const kind of FINDING_KINDS) {
    const found = figures.findings.find((finding) => finding.kind === kind);
    metrics.set('ebrc_findings', found?.count ?? 0, { kind });
    metrics.set('ebrc_finding_oldest_seconds', found?.oldestSeconds ?? 0, { kind });
  }
}

function showHistory(metrics: Metrics, figures: HistoryFigures, quota: Quota): void {
  const { ended, certificates, storedPdfs, quotaUsed } = figures;
  for (const what of ['certificates', 'exporters'] as const) {
    metrics.set('ebrc_quota', quota[what], { what });
    metrics.set('ebrc_quota_used', quotaUsed[what], { what });
  }
  for (const state of FILING_STATES.filter(isEnd)) {
    metrics.set('ebrc_filings', ended.find((figure) => figure.state === state)?.count ?? 0, { state });
  }
  metrics.set('ebrc_certificates', certificates);
  metrics.set('ebrc_certificate_pdfs', storedPdfs, { state: 'stored' });
}

function showFilings(metrics: Metrics, figures: LedgerFigures): void {
  for (const state of FILING_STATES.filter((known) => !isEnd(known))) {
    const found = figures.filings.find((figure) => figure.state === state);
    metrics.set('ebrc_filings', found?.count ?? 0, { state });
    metrics.set('ebrc_filing_oldest_seconds', found?.oldestSeconds ?? 0, { state });
  }
  metrics.set('ebrc_filings_needing_attention', figures.needingAttention);
  metrics.set('ebrc_filings_past_due', figures.pastDue);
  metrics.set('ebrc_filings_with_run_problem', figures.withRunProblem);
  metrics.set('ebrc_unknown_rows', figures.unknownRows);
  metrics.set('ebrc_question_oldest_seconds', figures.oldestQuestionSeconds);
}

function showAcknowledgements(metrics: Metrics, { openRequests, acknowledgementSeconds }: LedgerFigures): void {
  metrics.set('ebrc_open_requests', openRequests);
  for (const [nth, quantile] of ['0.5', '0.9', '1'].entries()) {
    metrics.set('ebrc_acknowledgement_seconds', acknowledgementSeconds?.[nth] ?? 0, { quantile });
  }
}

async function showBudget(metrics: Metrics, pool: pg.Pool, keyHash: string): Promise<void> {
  const usage = await readBudgetUsage(pool, keyHash);
  for (const rateClass of RATE_CLASSES) {
    const found = usage.find((used) => used.rateClass === rateClass);
    const tags = { rate_class: rateClass };
    metrics.set('ebrc_budget_slots', RATE_LIMITS[rateClass], tags);
    metrics.set('ebrc_budget_slots_used', found?.used ?? 0, tags);
    metrics.set('ebrc_budget_waiting', found?.waiting ?? 0, tags);
  }
}
