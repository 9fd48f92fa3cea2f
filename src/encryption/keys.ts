import { hkdfSync } from 'node:crypto';

/** Its message says what is wrong and what to do; no part of a secret is in it or in its cause. */
export class EncryptionError extends Error {
  override readonly name: string = 'EncryptionError';

  /** @param code `keys_invalid`, `key_missing`, `unreadable` (another key, or changed), or a store's own */
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
 * Sub-keys for each purpose: a codec server cannot decrypt passwords. The texts are part of the keys: what was
 * encrypted under a changed one cannot be opened.
 */
const PURPOSES = {
  vault: 'ebrc/1/vault',
  payloads: 'ebrc/1/payloads',
} as const;

const KEY_BYTES = 32;

/** Sub-keys for a purpose by key id (HKDF-SHA-256). @throws EncryptionError for no key, not 32 bytes, repeated ids */
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
