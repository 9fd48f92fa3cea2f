import { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import type { ApiCall } from '../../domain/service/api-call';
import type { BudgetMetrics } from '../../budget/budget';
import type { Vault } from '../../ledger/vault/vault';
import type { Swept } from '../../temporal/sweep';
import type { JobOutcome } from '../background-jobs';
import type { Metrics } from './metrics';

/** Counts one call to the service, from its audit record. */
export function observeCall(metrics: Metrics, { operation, kind, latencyMs }: ApiCall): void {
  metrics.count('ebrc_api_calls', { operation, kind: kind ?? 'ok' });
  metrics.observe('ebrc_api_call_seconds', latencyMs / 1_000, { operation });
}

export function budgetMetrics(metrics: Metrics, onRefused: (rateClass: string) => void): BudgetMetrics {
  return {
    granted: (rateClass, ms) => metrics.observe('ebrc_budget_wait_seconds', ms / 1_000, { rate_class: rateClass }),
    refused: (rateClass) => {
      metrics.count('ebrc_rate_limit_refusals', { rate_class: rateClass });
      onRefused(rateClass);
    },
  };
}

/** Wraps a vault and counts secrets that cannot be decrypted. */
export function countingVault(vault: Vault, metrics: Metrics): Vault {
  return {
    ...vault,
    open: async (...args) => {
      try {
        return await vault.open(...args);
      } catch (error) {
        metrics.count('ebrc_vault_failures', { reason: codeOf(error) });
        throw error;
      }
    },
  };
}

/** Codes of our own errors and of PostgreSQL are short; other texts must not become labels. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'other';
}

export function observeJob(metrics: Metrics, { id, ok }: JobOutcome): void {
  metrics.count('ebrc_job_runs', { job_id: id, outcome: ok ? 'ok' : 'failed' });
  if (ok) metrics.set('ebrc_job_last_success_timestamp_seconds', Date.now() / 1_000, { job_id: id });
}

export function observeSweep(metrics: Metrics, { resumed, reported }: Swept): void {
  metrics.count('ebrc_sweep_filings', { what: 'resumed' }, resumed.length);
  metrics.count('ebrc_sweep_filings', { what: 'reported' }, reported.length);
}

/** The polling activity: its retry is the poll. */
const POLL = 'pollStatus';

/** Measures how late polls begin, from the scheduled time that the server reports for the try. */
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
