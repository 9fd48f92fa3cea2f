/** The only place that turns an error into a failure that crosses Temporal. */
import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { ApiError } from '../api/errors/api-error';
import { cutText } from '../domain/text';
import type { LedgerUnavailableError } from '../ledger/unavailable';

/** What a failure carries besides its `type`, because classes do not survive serialization. No body, no password. */
export interface FailureDetails {
  kind: string;
  operation?: string;
  status?: number;
  errorCode?: string;
  requestId?: string;
  fieldErrors?: { row?: number; field?: string; message: string }[];
  causes?: string[];
  /** The version of the credentials that a refused call used, or would have used. */
  credentialsVersion?: number;
  /** If the service answered a send: the secret of the execution that made it. */
  sentBy?: string;
}

/** A failure carries only the first entries, because payloads have limits; the ledger has the whole list. */
const FIELD_ERRORS_IN_FAILURE = 20;
const CAUSES_IN_FAILURE = 5;
const MESSAGE_BYTES = 1_000;
const DETAIL_BYTES = 300;

const short = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : cutText(text, DETAIL_BYTES);

/** An API error as a failure of its kind, which Temporal retries never, on the profile's schedule, or after a delay. */
export function failureOf(
  error: ApiError,
  advice: { retry: boolean; nextDelayMs?: number; benign?: boolean },
  more: Pick<FailureDetails, 'sentBy'> = {},
): ApplicationFailure {
  const details: FailureDetails = {
    kind: error.kind,
    operation: error.operation,
    status: error.status,
    errorCode: short(error.errorCode),
    requestId: short(error.requestId),
    credentialsVersion: error.credentialsVersion,
    fieldErrors: error.fieldErrors.slice(0, FIELD_ERRORS_IN_FAILURE).map((fieldError) => ({
      ...fieldError,
      ...(fieldError.field === undefined ? {} : { field: cutText(fieldError.field, DETAIL_BYTES) }),
      message: cutText(fieldError.message, DETAIL_BYTES),
    })),
    causes: error.causes?.slice(0, CAUSES_IN_FAILURE).map((cause) => cutText(cause, DETAIL_BYTES)),
    ...more,
  };
  return ApplicationFailure.create({
    message: cutText(error.message, MESSAGE_BYTES),
    type: error.kind,
    nonRetryable: !advice.retry,
    details: [details],
    ...(advice.nextDelayMs === undefined ? {} : { nextRetryDelay: advice.nextDelayMs }),
    ...(advice.benign ? { category: ApplicationFailureCategory.BENIGN } : {}),
    cause: error,
  });
}

/** An expected "not yet": counts in no failure metric, logs no error, and sets its own retry delay. */
export function notYet(message: string, nextDelayMs: number, type = 'not_yet'): ApplicationFailure {
  return ApplicationFailure.create({
    message: cutText(message, MESSAGE_BYTES),
    type,
    nextRetryDelay: Math.max(1, Math.round(nextDelayMs)),
    category: ApplicationFailureCategory.BENIGN,
    details: [{ kind: type }],
  });
}

/** A failure that no retry will change. */
export function refusal(type: string, message: string, details: Record<string, unknown> = {}): ApplicationFailure {
  return ApplicationFailure.nonRetryable(cutText(message, MESSAGE_BYTES), type, { kind: type, ...details });
}

/** After this many attempts (a poll has dozens) the policy would wait its maximum interval: 15 minutes for a poll. */
const ATTEMPTS_UNTIL_MAX_INTERVAL = 10;
const MAX_PAUSE_MS = 30_000;

/** PostgreSQL is unavailable: retried on the profile's schedule, without end for steps that must happen. */
export function ledgerUnavailable(error: LedgerUnavailableError, attempt: number): ApplicationFailure {
  const message = `${error.message} The work is retried until it can.`;
  return ApplicationFailure.create({
    message,
    type: 'ledger_unavailable',
    details: [{ kind: 'ledger_unavailable' }],
    ...(attempt > ATTEMPTS_UNTIL_MAX_INTERVAL ? { nextRetryDelay: MAX_PAUSE_MS } : {}),
    cause: error,
  });
}
