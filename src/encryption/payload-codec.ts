import type { Payload, PayloadCodec, DataConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { refuseExcess } from '../domain/text';
import { EncryptionError, type EncryptionKey } from './keys';
import { sealerOf, type Sealer } from './sealing';
import { join } from 'node:path';

const ENCODING = 'binary/encrypted';
const NONCE_BYTES = 12;
/**
 * Authenticated with every payload, so that data of another use of the same sub-key could not be mistaken for a
 * payload.
 */
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
   * Whether JSON of more values or levels than any input of ours is read as null, which the schema of every input
   * refuses: two megabytes of `{},` take forty in the thread of the workflows, and would end one worker after another.
   */
  bounded?: boolean;
}

/** 2 MB, the most that Temporal takes, have some 75,000 in rows of a filing. */
const MAX_VALUES = 100_000;

/**
 * Encrypts every payload that goes to Temporal: inputs, results, memos, failures, summaries. AES-256-GCM under the
 * first key, whose id is in the payload's metadata; payloads under the other keys can be read. Unencrypted payloads
 * (older histories, callers without a codec) are read as they are.
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

/**
 * What clients and workers encrypt with; undefined where payloads are not encrypted.
 * @throws EncryptionError for keys that cannot be used
 */
export function dataConverterOf(
  keys: readonly EncryptionKey[],
  options: Omit<PayloadCodecOptions, 'keys'> = {},
): DataConverter | undefined {
  if (keys.length === 0) return undefined;
  return {
    payloadCodecs: [createPayloadCodec({ keys, ...options })],
    failureConverterPath: FAILURE_CONVERTER,
  };
}
