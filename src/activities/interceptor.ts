import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import type { Logger } from 'pino';
import { BudgetStoppedError } from '../budget/slot';
import { ApiError } from '../api/errors/api-error';
import { isRefusedPlaintext, PLAINTEXT_CODE, plaintextText } from '../domain/plaintext';
import { decide, delayMs, type Decision } from '../domain/service/retry-table';
import { FilingMissing } from '../ledger/filings/lock';
import { LedgerUnavailableError } from '../ledger/unavailable';
import { failureOf, ledgerUnavailable, refusal } from './application-failure';
import type { WorkerSettings } from './dependencies';

type RetryBounds = Pick<WorkerSettings, 'rateWindowMs' | 'pollMinMs' | 'pollMaxMs'>;

/** Short, because another worker takes over as soon as this one is gone. */
const AFTER_SHUTDOWN_MS = 1_000;

/** Maps every error of an activity once: API errors by the retry table, `ledger_unavailable`, or a defect. */
export class FailureInterceptor implements ActivityInboundCallsInterceptor {
  constructor(private readonly options: { logger: Logger; settings: RetryBounds }) {}

  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    // Whoever scheduled it has no key, and is none of our workflows.
    if (input.args.some(isRefusedPlaintext)) throw refusal(PLAINTEXT_CODE, plaintextText('The argument'));
    try {
      return await next(input);
    } catch (error) {
      throw this.cast(error);
    }
  }

  private cast(error: unknown): unknown {
    if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
    const { info, cancellationSignal } = Context.current();
    if (error instanceof ApiError) {
      const decision = decide(error.operation, error.kind);
      if (error.kind === 'cancelled' && decision.action !== 'resend') {
        if (cancellationSignal.aborted) return new CancelledFailure(error.message, [], error);
        return failureOf(error, { retry: true, nextDelayMs: AFTER_SHUTDOWN_MS, benign: true });
      }
      const advice = adviceOf(decision, info.attempt, this.options.settings, error.retryAfterMs);
      this.options.logger.info(
        {
          activity: info.activityType,
          workflowId: info.workflowExecution?.workflowId,
          attempt: info.attempt,
          kind: error.kind,
          operation: error.operation,
          status: error.status,
          code: error.errorCode,
          requestId: error.requestId,
          ...advice,
        },
        // The error's message is not logged: it has the service's words, which name exporters, documents and amounts.
        'a call failed',
      );
      return failureOf(error, advice);
    }
    if (error instanceof BudgetStoppedError) {
      return ApplicationFailure.create({
        message: error.message,
        type: 'cancelled',
        nextRetryDelay: AFTER_SHUTDOWN_MS,
      });
    }
    if (error instanceof FilingMissing) return refusal('filing_missing', error.message);
    if (error instanceof LedgerUnavailableError) {
      const { code } = error;
      this.options.logger.warn(
        { activity: info.activityType, attempt: info.attempt, code },
        'the ledger cannot be used right now',
      );
      // A local step follows its own policy: a delay of ours would keep its workflow task busy.
      return ledgerUnavailable(error, info.isLocal ? 1 : info.attempt);
    }
    this.options.logger.error({ activity: info.activityType, err: error }, 'activity failed unexpectedly');
    // A step on the ledger fails its workflow task at once, which is seen; it would be retried in silence otherwise.
    return info.isLocal ? refusal('unexpected', error instanceof Error ? error.message : String(error)) : error;
  }
}

/** What Temporal does about a failure. Workflows handle whatever is not simply retried. */
export function adviceOf(decision: Decision, attempt: number, settings: RetryBounds, retryAfterMs = 0) {
  if (decision.action === 'retry') {
    return { retry: true, nextDelayMs: Math.max(delayMs(decision.schedule, attempt), retryAfterMs) };
  }
  // The workflow itself waits for the activation: it shows the countdown and reads the time from the service.
  if (decision.action !== 'wait' || decision.until === 'activates_at') return { retry: false };
  const { until, schedule } = decision;
  const { pollMinMs, pollMaxMs } = settings;
  // A missing certificate is polled for, so that faster configured polls apply to it too.
  const { initialMs, maxMs } = until === 'certificate' ? { initialMs: pollMinMs, maxMs: 2 * pollMaxMs } : schedule;
  const bounded = {
    ...schedule,
    initialMs: Math.min(schedule.initialMs, initialMs),
    maxMs: Math.min(schedule.maxMs, maxMs),
  };
  const delay = until === 'rate_window' ? settings.rateWindowMs : delayMs(bounded, attempt);
  return { retry: true, nextDelayMs: Math.max(delay, retryAfterMs), benign: true };
}
