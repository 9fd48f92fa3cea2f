import { join } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import type { EncryptionKey } from '../keys/sub-keys';
import { createPayloadCodec, type PayloadCodecOptions } from './payload-codec';

/** Path of the module; the workflow bundle for encrypted payloads is built with it too. */
export const FAILURE_CONVERTER = require.resolve(join(__dirname, 'failure-converter'));

/**
 * What clients and workers encrypt with; undefined where payloads are not encrypted.
 * @throws EncryptionError for keys that cannot be used
 */
export function dataConverterOf(
  keys: readonly EncryptionKey[],
  { onUnreadable }: Pick<PayloadCodecOptions, 'onUnreadable'> = {},
): DataConverter | undefined {
  if (keys.length === 0) return undefined;
  return {
    payloadCodecs: [createPayloadCodec({ keys, onUnreadable })],
    failureConverterPath: FAILURE_CONVERTER,
  };
}
