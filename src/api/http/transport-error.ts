/** Why an exchange failed, before anybody asks what that means for the operation. */
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

/** An exchange that did not end with a whole answer. `written` says whether the first byte may have left. */
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
