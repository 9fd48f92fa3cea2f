import type { Payload, PayloadCodec, DataConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { refuseExcess } from '../domain/text';
import { EncryptionError, type EncryptionKey, checkedKeys, missingKey, unreadable } from './keys';
import { join } from 'node:path';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ENCODING = 'binary/encrypted';
const NONCE_BYTES = 12;
/** Authenticated with every payload: data of another use of the sub-key is not mistaken for one. */
const CONTEXT = 'temporal payload';

const utf8 = new TextEncoder();
const text = new TextDecoder();

const NULL: Payload = { metadata: { encoding: utf8.encode('json/plain') }, data: utf8.encode('null') };

export interface PayloadCodecOptions {
  /** The payload keys, the current one first. */
  keys: readonly EncryptionKey[];
  /** Called for a payload that cannot be decrypted. */
  onUnreadable?: (error: EncryptionError) => void;
  /**
   * Reads JSON beyond any input of ours as null, which every schema refuses: 2 MB of `{},` take forty in the workflows'
   * thread, and would end one worker after another.
   */
  bounded?: boolean;
}

/** 2 MB, the most that Temporal takes, have some 75,000 in rows of a filing. */
const MAX_VALUES = 100_000;

/**
 * Encrypts every payload with AES-256-GCM under the first key, whose id is in the metadata; reads those under the other
 * keys, and unencrypted ones.
 * @throws EncryptionError for keys that cannot be used
 */
export function createPayloadCodec({ keys, onUnreadable, bounded = false }: PayloadCodecOptions): PayloadCodec {
  const sealer = sealerOf(keys);
  return {
    encode: (payloads) => Promise.resolve(payloads.map((payload) => encrypt(sealer, payload))),
    // Rejects instead of throwing: a caller of a promise does not expect an exception.
    decode: async (payloads) => {
      try {
        const opened = payloads.map((payload) => decrypt(sealer, payload));
        return await Promise.resolve(bounded ? opened.map(withinBounds) : opened);
      } catch (error) {
        if (error instanceof EncryptionError) onUnreadable?.(error);
        throw error;
      }
    },
  };
}

function encrypt(sealer: Sealer, payload: Payload): Payload {
  const whole = Buffer.from(temporal.api.common.v1.Payload.encode(payload).finish());
  const { keyId, nonce, ciphertext } = sealer.seal(whole, CONTEXT);
  return {
    metadata: { encoding: utf8.encode(ENCODING), 'encryption-key-id': utf8.encode(keyId) },
    data: Buffer.concat([nonce, ciphertext]),
  };
}

function decrypt(sealer: Sealer, payload: Payload): Payload {
  if (text.decode(payload.metadata?.['encoding'] ?? new Uint8Array()) !== ENCODING) return payload;
  const keyId = text.decode(payload.metadata?.['encryption-key-id'] ?? new Uint8Array());
  const data = Buffer.from(payload.data ?? new Uint8Array());
  const opened = sealer.open(
    { keyId, nonce: data.subarray(0, NONCE_BYTES), ciphertext: data.subarray(NONCE_BYTES) },
    CONTEXT,
  );
  return temporal.api.common.v1.Payload.decode(opened);
}

function withinBounds(payload: Payload): Payload {
  if (!text.decode(payload.metadata?.['encoding'] ?? new Uint8Array()).startsWith('json/')) return payload;
  try {
    // What is counted are ASCII characters, which no other character has a byte of.
    refuseExcess(Buffer.from(payload.data ?? new Uint8Array()).toString('latin1'), MAX_VALUES);
    return payload;
  } catch {
    return NULL;
  }
}

/** Path of the module; the workflow bundle for encrypted payloads is built with it too. */
export const FAILURE_CONVERTER = require.resolve(join(__dirname, 'failure-converter'));

/** What clients and workers encrypt with; undefined: nothing is. @throws EncryptionError for unusable keys */
export function dataConverterOf(
  keys: readonly EncryptionKey[],
  options: Omit<PayloadCodecOptions, 'keys'> = {},
): DataConverter | undefined {
  if (keys.length === 0) return undefined;
  return { payloadCodecs: [createPayloadCodec({ keys, ...options })], failureConverterPath: FAILURE_CONVERTER };
}

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
