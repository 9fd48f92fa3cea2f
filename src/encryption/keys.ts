import { hkdfSync } from 'node:crypto';

/** Its message says what is wrong and what to do; no part of a secret is in it or in its cause. */
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

/** What was encrypted under a key that is not configured. */
export const missingKey = (keyId: string) =>
  new EncryptionError(
    'key_missing',
    `It is encrypted with key ${keyId}, which is not in EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY: add it after the first.`,
  );

/** What does not open with a key that is configured. */
export const unreadable = (keyId: string) =>
  new EncryptionError(
    'unreadable',
    `It does not open with key ${keyId}: the key is not the one of that id, or what is stored was changed or belongs elsewhere.`,
  );

export interface EncryptionKey {
  /** Stored with the data that is encrypted under the key. */
  id: string;
  key: Buffer;
}

/**
 * The purposes of EBRC_ENCRYPTION_KEY's keys. Each purpose has its own sub-keys, so that a holder of the sub-key for
 * payloads (a codec server) cannot decrypt passwords. The texts are part of the keys: if one is changed, nothing
 * encrypted under it can be opened any more.
 */
const PURPOSES = {
  vault: 'ebrc/1/vault',
  payloads: 'ebrc/1/payloads',
} as const;

const KEY_BYTES = 32;

/**
 * The sub-keys for one purpose, under the ids of the keys that they are derived from (HKDF-SHA-256), in the same order.
 * @throws EncryptionError for no key, a key that is not 32 bytes long, or two keys with one id
 */
export function subKeys(
  keys: readonly EncryptionKey[],
  purpose: keyof typeof PURPOSES,
): [EncryptionKey, ...EncryptionKey[]] {
  const [first, ...more] = checkedKeys(keys).map(({ id, key }) => ({
    id,
    key: Buffer.from(hkdfSync('sha256', key, '', PURPOSES[purpose], KEY_BYTES)),
  }));
  return [first as EncryptionKey, ...more];
}

/** Keys as they are, if they can be used. @throws EncryptionError as {@link subKeys} */
export function checkedKeys(keys: readonly EncryptionKey[]): [EncryptionKey, ...EncryptionKey[]] {
  if (new Set(keys.map(({ id }) => id)).size !== keys.length) {
    throw new EncryptionError(
      'keys_invalid',
      'Two keys of EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY have the same id: give each a different id.',
    );
  }
  const [first, ...more] = keys.map(({ id, key }) => {
    if (key.length !== KEY_BYTES) {
      const message = `Key ${id} has ${key.length} bytes; a key has exactly ${KEY_BYTES}.`;
      throw new EncryptionError('keys_invalid', message);
    }
    return { id, key };
  });
  if (!first) throw new EncryptionError('keys_invalid', 'There is no encryption key: set EBRC_ENCRYPTION_KEY.');
  return [first, ...more];
}
