import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { checkedKeys, missingKey, unreadable, type EncryptionKey } from './keys';

/** Encrypted bytes, with everything except the key that is needed to open them. */
interface Sealed {
  keyId: string;
  nonce: Buffer;
  /** The ciphertext followed by its 16-byte tag. */
  ciphertext: Buffer;
}

/** AES-256-GCM: the first key encrypts, all decrypt. */
export interface Sealer {
  /** Encrypts bytes that open only with the same `context`, which is authenticated and not stored. */
  seal(bytes: Buffer, context: string): Sealed;
  /** @throws EncryptionError `key_missing` or `unreadable` */
  open(sealed: Sealed, context: string): Buffer;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @throws EncryptionError `keys_invalid` */
export function sealerOf(keys: readonly EncryptionKey[]): Sealer {
  const own = checkedKeys(keys);
  const [primary] = own;
  const byId = new Map(own.map(({ id, key }) => [id, key]));
  return {
    seal(bytes, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, primary.key, nonce).setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
      return { keyId: primary.id, nonce, ciphertext };
    },

    open({ keyId, nonce, ciphertext }, context) {
      const key = byId.get(keyId);
      if (!key) throw missingKey(keyId);
      try {
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context)).setAuthTag(ciphertext.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(ciphertext.subarray(0, -TAG_BYTES)), decipher.final()]);
      } catch {
        throw unreadable(keyId);
      }
    },
  };
}
