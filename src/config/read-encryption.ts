/** Keys of Temporal's payloads and of the vault. */
import { hkdfSync } from 'node:crypto';
import type { EncryptionKey } from '../keys/sub-keys';
import * as hints from './hints';
import { weakEncryptionKey } from './links';
import { isLive, modeOf } from './read-service';
import type { Reader } from './reader';

/**
 * Payloads are encrypted whenever a key is given, and always with a prod_ key: workflow inputs and results name
 * exporters and amounts.
 */
export function readPayloadKeys(read: Reader): readonly EncryptionKey[] {
  if (read.isSet('EBRC_ENCRYPTION_KEY')) return read.optional('EBRC_ENCRYPTION_KEY') ?? [];
  if (modeOf(read) === 'live') read.report('EBRC_ENCRYPTION_KEY', hints.MISSING_LIVE_KEY);
  return [];
}

/**
 * With a prod_ key a separate encryption key is required, because a leaked API key must not open the vault. With a dev_
 * key the encryption key may be derived from the API key, so that the command line and the worker use the same key on
 * any machine and the vault is always encrypted.
 */
export function readEncryption(read: Reader, warnings: string[]) {
  if (read.isSet('EBRC_ENCRYPTION_KEY')) {
    const encryptionKeys = read.optional('EBRC_ENCRYPTION_KEY');
    const weak = encryptionKeys && isLive(read) ? weakEncryptionKey(encryptionKeys) : null;
    if (weak) read.report('EBRC_ENCRYPTION_KEY', weak);
    return { encryptionKeys };
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
