/** Says what is wrong and what to do; never holds any part of a secret, nor its cause. */
export class EncryptionError extends Error {
  override readonly name: string = 'EncryptionError';

  /**
   * @param code `keys_invalid`: no usable keys; `key_missing`: encrypted under a key that is not there; `unreadable`:
   * another key of that id, or changed. Stores add their own.
   */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
