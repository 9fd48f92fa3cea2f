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
