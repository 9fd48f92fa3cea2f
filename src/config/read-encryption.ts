/** Keys of Temporal's payloads and of the vault. */
import { hkdfSync } from 'node:crypto';
import { subKeys, type EncryptionKey } from '../encryption/keys';
import * as hints from './hints';
import { weakEncryptionKey } from './links';
import { isLive, modeOf } from './read-service';
import type { Reader } from './reader';

/**
 * Payloads are encrypted whenever a key is given, and always with a prod_ key: workflow inputs and results name
 * exporters and amounts. Their key is EBRC_PAYLOAD_KEY, which opens no password, or derived from EBRC_ENCRYPTION_KEY;
 * where both are set, what was encrypted under the derived one is still read.
 */
export function readPayloadKeys(read: Reader): readonly EncryptionKey[] {
  const own = keysOf(read, 'EBRC_PAYLOAD_KEY');
  const derived = keysOf(read, 'EBRC_ENCRYPTION_KEY');
  if (own === null || derived === null) return [];
  if (own.length + derived.length === 0) {
    if (modeOf(read) === 'live') read.report('EBRC_ENCRYPTION_KEY', hints.MISSING_PAYLOAD_KEY);
    return [];
  }
  const payloads = derived.length > 0 ? subKeys(derived, 'payloads') : [];
  const clash = payloads.find(({ id, key }) => own.some((each) => each.id === id && !each.key.equals(key)));
  if (clash) {
    const problem = `has a key "${clash.id}" that is not the one derived from EBRC_ENCRYPTION_KEY; allowed: an id of its own, or what \`ebrc keys payload\` prints`;
    read.report('EBRC_PAYLOAD_KEY', problem);
  }
  return [...own, ...payloads.filter(({ id }) => own.every((each) => each.id !== id))];
}

/** The keys of a variable; none where it is not set, null where they cannot be used. */
function keysOf(read: Reader, variable: 'EBRC_PAYLOAD_KEY' | 'EBRC_ENCRYPTION_KEY'): readonly EncryptionKey[] | null {
  if (!read.isSet(variable)) return [];
  const keys = read.optional(variable);
  if (keys === undefined) return null;
  const weak = isLive(read) ? weakEncryptionKey(keys) : null;
  if (weak) read.report(variable, weak);
  return keys;
}

/**
 * With a prod_ key a separate encryption key is required, because a leaked API key must not open the vault. With a dev_
 * key the encryption key may be derived from the API key, so that the command line and the worker use the same key on
 * any machine and the vault is always encrypted.
 */
export function readEncryption(read: Reader, warnings: string[]) {
  if (read.isSet('EBRC_ENCRYPTION_KEY')) {
    return { encryptionKeys: keysOf(read, 'EBRC_ENCRYPTION_KEY') ?? undefined };
  }
  const apiKey = read.required('EBRC_API_KEY', hints.ENCRYPTION_HINT);
  if (apiKey === undefined) return {};
  if (modeOf(read) === 'live') {
    read.report('EBRC_ENCRYPTION_KEY', hints.MISSING_LIVE_KEY);
    return {};
  }
  const key = Buffer.from(hkdfSync('sha256', apiKey, '', 'ebrc-worker development encryption key', 32));
  warnings.push(
    'EBRC_ENCRYPTION_KEY is not set: the encryption key is derived from the dev_ key. Set one before real data goes in.',
  );
  return { encryptionKeys: [{ id: 'derived-from-dev-key', key }] };
}
