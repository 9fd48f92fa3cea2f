import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

type Headers = Record<string, string | string[] | undefined>;

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);

/**
 * A body as it was before a server or proxy compressed it. Calls ask for none of that (`accept-encoding: identity`),
 * and some compress all the same: an acknowledgement that could not be read would be an unknown outcome. The headers of
 * the coded form, its length among them, are left out then. A coding that is not known is left as it is.
 */
export function decoded(body: Readable, headers: Headers): { body: Readable; headers: Headers } {
  const coding = headers['content-encoding'];
  const decoder = typeof coding === 'string' ? DECODERS.get(coding.trim().toLowerCase())?.() : undefined;
  if (!decoder) return { body, headers };
  const { 'content-encoding': _coding, 'content-length': _length, ...others } = headers;
  // What breaks the body off, or the coding, reaches the reader of the decoded one.
  return { body: pipeline(body, decoder, () => undefined), headers: others };
}
