import type { ErrorKind } from '../../domain/service/error-kinds';
import type { Operation } from '../../domain/service/operations';

/** One field's complaint. `row` is the Excel row of a bulk upload (header is 1); `field` the JSON field name. */
export interface FieldError {
  row?: number;
  /** Place in the list of a push message, counted from 0, and the item's own number: each of them gives the row. */
  index?: number;
  serialNo?: number;
  field?: string;
  message: string;
}

export interface ApiErrorDetails {
  kind: ErrorKind;
  operation: Operation;
  message: string;
  /** HTTP status, where an answer came. */
  status?: number;
  errorCode?: string;
  requestId?: string;
  requiresPasswordUpdate?: boolean;
  fieldErrors?: FieldError[];
  causes?: string[];
  path?: string;
  timestamp?: string;
  /** Earliest time for a repeat, if the answer gives it. */
  retryAfterMs?: number;
  /** Start of the answer's body, for evidence; redacted. */
  bodyExcerpt?: string;
  cause?: unknown;
}

/**
 * A failed call. Branch on `kind`. Texts from the service are already redacted: no property contains the API key or a
 * portal password, nor does the cause.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: ErrorKind;
  readonly operation: Operation;
  readonly status?: number;
  readonly errorCode?: string;
  readonly requestId?: string;
  readonly requiresPasswordUpdate?: boolean;
  readonly fieldErrors: FieldError[];
  readonly causes?: string[];
  readonly path?: string;
  readonly timestamp?: string;
  readonly retryAfterMs?: number;
  readonly bodyExcerpt?: string;

  constructor(details: ApiErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = details.kind;
    this.operation = details.operation;
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.requestId = details.requestId;
    this.requiresPasswordUpdate = details.requiresPasswordUpdate;
    this.fieldErrors = details.fieldErrors ?? [];
    this.causes = details.causes;
    this.path = details.path;
    this.timestamp = details.timestamp;
    this.retryAfterMs = details.retryAfterMs;
    this.bodyExcerpt = details.bodyExcerpt;
  }
}

/** Why an exchange failed, independent of the operation. */
export type TransportReason =
  /** The caller's signal. */
  | 'cancelled'
  /** The total, connect, headers or body time-out. */
  | 'timeout'
  /** `beforeWrite` threw. */
  | 'before_write'
  /** Refused, name or TLS failure, reset, closed, not HTTP. */
  | 'network'
  /** The answer is longer than the cap for its kind. */
  | 'too_large';

/** An exchange without a complete answer. `written` says whether the first byte may have been sent. */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly reason: TransportReason,
    readonly written: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
