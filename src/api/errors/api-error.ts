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

/** What an error answer says of itself (spec: "Errors"). */
export interface ErrorAnswer {
  errorCode?: string;
  requestId?: string;
  requiresPasswordUpdate?: boolean;
  fieldErrors: FieldError[];
  causes?: string[];
}

/** A failed call; branch on `kind`. Texts and cause are redacted: no API key, no portal password. */
export class ApiError extends Error implements ErrorAnswer {
  override readonly name = 'ApiError';
  readonly kind!: ErrorKind;
  readonly operation!: Operation;
  /** HTTP status, where an answer came. */
  readonly status?: number;
  readonly errorCode?: string;
  readonly requestId?: string;
  readonly requiresPasswordUpdate?: boolean;
  readonly fieldErrors: FieldError[] = [];
  readonly causes?: string[];
  /** Earliest time for a repeat, if the answer gives it. */
  readonly retryAfterMs?: number;
  /** The version of the stored credentials that the call was made with, where the service refused them. */
  credentialsVersion?: number;

  constructor({
    message,
    cause,
    ...details
  }: Pick<ApiError, 'kind' | 'operation' | 'message' | 'cause'> &
    Partial<ErrorAnswer & Pick<ApiError, 'status' | 'retryAfterMs'>>) {
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this, details);
  }
}

/**
 * An exchange without a complete answer. `written`: whether the first byte may have been sent; `reason`: the caller's
 * signal, a time-out, `beforeWrite`, the connection, or an answer above its cap.
 */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly reason: 'cancelled' | 'timeout' | 'before_write' | 'network' | 'too_large',
    readonly written: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
