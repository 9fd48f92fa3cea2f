import type { ErrorKind } from '../domain/service/error-kinds';

/**
 * A document that was not stored. `kind` is what the activities report: bad_answer for content that is not what it
 * should be (fetch it again), conflict where another content is stored under the name (a person has to look).
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
