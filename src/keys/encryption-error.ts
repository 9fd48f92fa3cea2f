/**
 * An encryption error. Its message says what is wrong and what to do; neither it nor its cause contains any part of a
 * secret.
 */
export class EncryptionError extends Error {
  override readonly name: string = 'EncryptionError';

  /**
   * @param code `keys_invalid`: no usable keys; `key_missing`: encrypted under a key that is not configured;
   * `unreadable`: another key of that id, or changed. Stores add their own.
   */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
