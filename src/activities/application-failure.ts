/** The one place where an error becomes a failure that crosses Temporal. */
import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { ApiError } from '../api/errors/api-error';
import { cutText } from '../domain/text';
import type { LedgerUnavailableError } from '../ledger/unavailable';

/** What a failure carries beside its `type`, as classes do not survive serialization. No body and no secret. */
export interface FailureDetails {
  kind: string;
  operation?: string;
  status?: number;
  errorCode?: string;
  requestId?: string;
  fieldErrors?: { row?: number; field?: string; message: string }[];
  causes?: string[];
  /** The credentials that a refused call was, or would have been, made with. */
  credentialsVersion?: number;
  /** Where the service answered a send: the secret of the execution that made it. */
  sentBy?: string;
}

/** Histories are kept for years and payloads have limits: the whole list is in the ledger, a sample travels. */
const FIELD_ERRORS_IN_FAILURE = 20;
const CAUSES_IN_FAILURE = 5;
const MESSAGE_BYTES = 1_000;
const DETAIL_BYTES = 300;

const short = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : cutText(text, DETAIL_BYTES);

/** How a failure of a call is repeated by Temporal: never, on the profile's schedule, or after a delay. */
export interface RetryAdvice {
  retry: boolean;
  nextDelayMs?: number;
  benign?: boolean;
}

/** Turns an API error into a failure whose `type` is the error's kind. */
export function failureOf(
  error: ApiError,
  advice: RetryAdvice,
  more: Pick<FailureDetails, 'sentBy'> = {},
): ApplicationFailure {
  const details: FailureDetails = {
    kind: error.kind,
    operation: error.operation,
    status: error.status,
    errorCode: short(error.errorCode),
    requestId: short(error.requestId),
    credentialsVersion: error.credentialsVersion,
    fieldErrors: error.fieldErrors.slice(0, FIELD_ERRORS_IN_FAILURE).map((each) => ({
      ...each,
      ...(each.field === undefined ? {} : { field: cutText(each.field, DETAIL_BYTES) }),
      message: cutText(each.message, DETAIL_BYTES),
    })),
    causes: error.causes?.slice(0, CAUSES_IN_FAILURE).map((each) => cutText(each, DETAIL_BYTES)),
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

/** An expected "not yet": no failure metric, no error in the log, and its own delay until the next look. */
export function notYet(message: string, nextDelayMs: number, type = 'not_yet'): ApplicationFailure {
  return ApplicationFailure.create({
    message: cutText(message, MESSAGE_BYTES),
    type,
    nextRetryDelay: Math.max(1, Math.round(nextDelayMs)),
    category: ApplicationFailureCategory.BENIGN,
    details: [{ kind: type }],
  });
}

/** A refusal that no repeat will change. */
export function refusal(type: string, message: string, details: Record<string, unknown> = {}): ApplicationFailure {
  return ApplicationFailure.nonRetryable(cutText(message, MESSAGE_BYTES), type, { kind: type, ...details });
}

/** Beyond this many attempts (a poll has dozens) the policy's next interval would be its longest: 15 min for a poll. */
const ATTEMPTS_UNTIL_MAX_INTERVAL = 10;
const MAX_PAUSE_MS = 30_000;

/** PostgreSQL is unavailable: retried on the profile's schedule, without end by steps that must happen. */
export function ledgerUnavailable(error: LedgerUnavailableError, attempt: number): ApplicationFailure {
  const message = `${error.message} The work is repeated until it can.`;
  return ApplicationFailure.create({
    message,
    type: 'ledger_unavailable',
    details: [{ kind: 'ledger_unavailable' }],
    ...(attempt > ATTEMPTS_UNTIL_MAX_INTERVAL ? { nextRetryDelay: MAX_PAUSE_MS } : {}),
    cause: error,
  });
}
