import type { ErrorKind } from '../domain/service/error-kinds';

/**
 * A document that was not stored. `kind` is what the activities report: bad_answer for invalid content (fetch it
 * again), conflict if different content is stored under the name (a person has to look).
 */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';

  constructor(
    readonly kind: Extract<ErrorKind, 'bad_answer' | 'conflict'>,
    readonly documentName: string,
    message: string,
  ) {
    super(message);
  }
}

/** @throws DocumentError `conflict` where another content is stored under the name */
export function assertSameContent({ name, sha256: stored }: { name: string; sha256: string }, sha256: string): void {
  if (stored === sha256) return;
  const message = `${name} is stored already with other content (sha256 ${stored}, now ${sha256}); it was left as it is.`;
  throw new DocumentError('conflict', name, message);
}
