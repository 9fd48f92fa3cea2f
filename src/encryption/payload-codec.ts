import type { Payload, PayloadCodec, DataConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { refuseExcess } from '../domain/json';
import { plaintextText, REFUSED_PLAINTEXT } from '../domain/plaintext';
import { EncryptionError, type EncryptionKey, checkedKeys, missingKey, unreadable } from './keys';
import { join } from 'node:path';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ENCODING = 'binary/encrypted';
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Authenticated with every payload, so that data of another use of the sub-key is not taken for a payload. */
const CONTEXT = Buffer.from('temporal payload');

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** What is done with a payload that is not encrypted: passed through, an error, or {@link REFUSED_PLAINTEXT} for it. */
export type Plaintext = 'taken' | 'refused' | 'replaced';

/**
 * Encrypts payloads with AES-256-GCM under the first key, whose id is in the metadata. Decrypts payloads under any of
 * the keys.
 * @throws EncryptionError for keys that cannot be used
 */
export function createPayloadCodec({
  keys,
  plaintext = 'taken',
  onUnreadable,
}: {
  /** The payload keys, the current one first. */
  keys: readonly EncryptionKey[];
  plaintext?: Plaintext;
  /** Called for a payload that cannot be decrypted, or is not encrypted and not taken. */
  onUnreadable?: (error: EncryptionError) => void;
}): PayloadCodec {
  const usable = checkedKeys(keys);
  const [current] = usable;
  const read = (payload: Payload): Payload => {
    if (isEncrypted(payload)) return decrypt(usable, payload);
    if (plaintext === 'taken') return payload;
    const error = new EncryptionError('plaintext', plaintextText('What Temporal has of it'));
    if (plaintext === 'refused') throw error;
    onUnreadable?.(error);
    return PLAINTEXT_REFUSED;
  };
  return {
    encode: (payloads) => Promise.resolve(payloads.map((payload) => encrypt(current, payload))),
    // Async, so that it rejects instead of throwing.
    decode: async (payloads) => {
      try {
        return await Promise.resolve(payloads.map(read));
      } catch (error) {
        if (error instanceof EncryptionError) onUnreadable?.(error);
        throw error;
      }
    },
  };
}

/** The encrypted data is nonce, ciphertext and tag. */
function encrypt({ id, key }: EncryptionKey, payload: Payload): Payload {
  const whole = temporal.api.common.v1.Payload.encode(payload).finish();
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(CONTEXT);
  return {
    metadata: { encoding: utf8.encode(ENCODING), 'encryption-key-id': utf8.encode(id) },
    data: Buffer.concat([nonce, cipher.update(whole), cipher.final(), cipher.getAuthTag()]),
  };
}

const isEncrypted = ({ metadata }: Payload): boolean =>
  text.decode(metadata?.['encoding'] ?? new Uint8Array()) === ENCODING;

/** @throws EncryptionError `key_missing` or `unreadable` */
function decrypt(keys: readonly EncryptionKey[], payload: Payload): Payload {
  const keyId = text.decode(payload.metadata?.['encryption-key-id'] ?? new Uint8Array());
  const known = keys.find(({ id }) => id === keyId);
  if (!known) throw missingKey(keyId);
  const data = Buffer.from(payload.data ?? new Uint8Array());
  let opened: Buffer;
  try {
    const nonce = data.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, known.key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(CONTEXT).setAuthTag(data.subarray(-TAG_BYTES));
    opened = Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw unreadable(keyId);
  }
  return temporal.api.common.v1.Payload.decode(opened);
}

/** Path of the module. The workflow bundle for encrypted payloads is built with it too. */
export const FAILURE_CONVERTER = require.resolve(join(__dirname, 'failure-converter'));

/** The data converter of clients and workers; undefined without keys. @throws EncryptionError for unusable keys */
export function dataConverterOf(
  keys: readonly EncryptionKey[],
  options: Omit<Parameters<typeof createPayloadCodec>[0], 'keys'> = {},
): DataConverter | undefined {
  if (keys.length === 0) return undefined;
  return { payloadCodecs: [createPayloadCodec({ keys, ...options })], failureConverterPath: FAILURE_CONVERTER };
}

const jsonPayload = (value: unknown): Payload => ({
  metadata: { encoding: utf8.encode('json/plain') },
  data: utf8.encode(JSON.stringify(value)),
});
const NULL = jsonPayload(null);
const PLAINTEXT_REFUSED = jsonPayload(REFUSED_PLAINTEXT);

/** Rows of a filing have about 75,000 values in 2 MB, Temporal's limit of a payload. */
const MAX_VALUES = 100_000;

/** What is encrypted under a key that the worker lacks is not a caller's fault: its workflow waits for the key. */
const OTHER_ENCODINGS = ['binary/null', 'binary/plain', ENCODING];

/**
 * The data converter of workers. It reads what a workflow cannot take as null, which every schema refuses: a failure to
 * decode fails each workflow task, and 2 MB of `{},` take 40 MB in the workflow thread and would end one worker after
 * another.
 */
export function boundedConverter(converter: DataConverter = {}): DataConverter {
  const bounds: PayloadCodec = {
    encode: (payloads) => Promise.resolve(payloads),
    decode: (payloads) => Promise.resolve(payloads.map((payload) => (isReadable(payload) ? payload : NULL))),
  };
  // The first codec decodes last.
  return { ...converter, payloadCodecs: [bounds, ...(converter.payloadCodecs ?? [])] };
}

function isReadable({ metadata, data }: Payload): boolean {
  const encoding = text.decode(metadata?.['encoding'] ?? new Uint8Array());
  if (encoding !== 'json/plain') return OTHER_ENCODINGS.includes(encoding);
  // latin1 is enough: only ASCII characters are examined, whose bytes occur in no other character of UTF-8.
  const json = Buffer.from(data ?? new Uint8Array()).toString('latin1');
  try {
    refuseExcess(json, { maxValues: MAX_VALUES });
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}
