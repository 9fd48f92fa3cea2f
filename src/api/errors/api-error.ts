import type { ErrorKind } from '../../domain/service/error-kinds';
import type { Operation } from '../../domain/service/operations';

/** An error of one field. `row`: Excel row of a bulk upload (header is 1); `field`: JSON field name. */
export interface FieldError {
  row?: number;
  /** An item of a push message: its index, from 0, or its own number; either gives the row. */
  index?: number;
  serialNo?: number;
  field?: string;
  message: string;
}

/** Details of an error answer (spec: "Errors"). */
export interface ErrorAnswer {
  errorCode?: string;
  requestId?: string;
  requiresPasswordUpdate?: boolean;
  fieldErrors: FieldError[];
  causes?: string[];
}

/** A failed call; branch on `kind`. Texts and cause are redacted: they hold no API key and no portal password. */
export class ApiError extends Error implements ErrorAnswer {
  override readonly name = 'ApiError';
  readonly kind!: ErrorKind;
  readonly operation!: Operation;
  /** HTTP status, if an answer came. */
  readonly status?: number;
  readonly errorCode?: string;
  readonly requestId?: string;
  readonly requiresPasswordUpdate?: boolean;
  readonly fieldErrors: FieldError[] = [];
  readonly causes?: string[];
  /** Milliseconds before a retry, if the answer says so. */
  readonly retryAfterMs?: number;
  /** Version of the stored credentials that the service refused. */
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
 * signal, a time-out, `beforeWrite`, the connection, or an answer above the size limit.
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
