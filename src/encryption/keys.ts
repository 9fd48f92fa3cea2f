import { hkdfSync } from 'node:crypto';

/** An error of keys or encrypted data. Neither its message nor its cause contains a secret. */
export class EncryptionError extends Error {
  override readonly name: string = 'EncryptionError';

  /** @param code `keys_invalid`, `key_missing`, `unreadable` (wrong key or changed data), or a store's own code */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The error for data that is encrypted under a key that is not configured. */
export const missingKey = (keyId: string) =>
  new EncryptionError(
    'key_missing',
    `It is encrypted with key ${keyId}, which is not in EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY: add it after the first.`,
  );

/** The error for data that a configured key does not decrypt. */
export const unreadable = (keyId: string) =>
  new EncryptionError(
    'unreadable',
    `It does not open with key ${keyId}: the key is not the one of that id, or what is stored was changed or belongs elsewhere.`,
  );

export interface EncryptionKey {
  /** Stored with the encrypted data. */
  id: string;
  key: Buffer;
}

/**
 * Contexts of the sub-keys, one for each purpose, so that a codec server cannot decrypt passwords. They must not
 * change, because they are part of the keys.
 */
const PURPOSES = {
  vault: 'ebrc/1/vault',
  payloads: 'ebrc/1/payloads',
} as const;

const KEY_BYTES = 32;

/** Derives the sub-keys for a purpose (HKDF-SHA-256). @throws EncryptionError for no key, not 32 bytes, repeated ids */
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

/** The unchanged keys, after a check. @throws EncryptionError as {@link subKeys} */
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
