import type { Readable } from 'node:stream';
import type { Mode } from '../domain/names';
import type { Owned } from './records';
import { createHash } from 'node:crypto';
import type { ErrorKind } from '../domain/service/error-kinds';

/** Certificates are PDFs, filings and reports workbooks; a report can also be a page. */
export type DocumentKind = 'pdf' | 'xlsx' | 'html';

/** Names that are used unchanged. Shorter ones get a hash, because `CON` or `COM1` are devices on some systems. */
const PLAIN = /^[A-Z0-9]{5,80}$/u;
const STORED = /^(test\.)?[A-Z0-9_-]{1,80}(~[0-9a-f]{32})?\.(pdf|xlsx|html)$/u;

/**
 * The file name of a document, made only from `name`. Capitals and digits stay unchanged; any other name becomes a
 * readable part, `~` and a hash, so that two numbers never share a file and no name leaves the folder. In test mode it
 * starts with `test.`, because one number in both modes is two certificates.
 */
export function documentName(name: string, kind: DocumentKind, mode?: Mode): string {
  const prefix = mode === 'test' ? 'test.' : '';
  if (PLAIN.test(name)) return `${prefix}${name}.${kind}`;
  const readable =
    name
      .toUpperCase()
      .replace(/[^A-Z0-9_-]+/gu, '_')
      .slice(0, 60) || '_';
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return `${prefix}${readable}~${hash}.${kind}`;
}

/** How the names of workbooks begin that were handed in and checked, and may never be filed. */
export const HANDED_IN = 'handed-in-';

/** Whether {@link documentName} can have made a text. */
export function isDocumentName(text: string): boolean {
  return STORED.test(text);
}

/** @throws RangeError for a text that {@link documentName} cannot have made */
export function assertDocumentName(text: string): void {
  if (!isDocumentName(text)) throw new RangeError(`${JSON.stringify(text)} is not the name of a stored document.`);
}

/** A document was not stored. `bad_answer`: invalid content, fetch again; `conflict`: a person has to look. */
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

/** @throws DocumentError `conflict` if other content is stored under the name */
export function assertSameContent({ name, sha256: stored }: { name: string; sha256: string }, sha256: string): void {
  if (stored === sha256) return;
  const message = `${name} is stored already with other content (sha256 ${stored}, now ${sha256}); it was left as it is.`;
  throw new DocumentError('conflict', name, message);
}

/** The error of a probe for a store that does not show what was just written. */
export const unreadable = (root: string): Error => new Error(`${root} does not show what was just written to it`);

export interface StoredDocument {
  /** File name inside the store; the ledger stores it, and the other methods take it. */
  name: string;
  /** The location for people: an absolute path, or `s3://bucket/prefix/name`. */
  path: string;
  /** SHA-256 of the content, hex. */
  sha256: string;
  bytes: number;
  /** What is odd about it, though it can be opened; absent where nothing is. */
  note?: string;
}

/** Stores complete, checked documents in a folder or a bucket. */
export interface DocumentStore extends Owned {
  /**
   * Stores a document completely or not at all. Storing the same content again succeeds; other content is refused,
   * unless the stored document is damaged. A certificate's bytes may vary between downloads, so call `find` before
   * fetching. Rejects with {@link DocumentError} or the system's error.
   */
  put(
    input: {
      /** For a certificate its eBRC number. */
      name: string;
      kind: DocumentKind;
      /** For a certificate the mode in which it was issued. */
      mode?: Mode;
      /** The length that the document must have (Content-Length). */
      expectedBytes?: number;
    } & ({ stream: Readable } | { buffer: Buffer }),
  ): Promise<StoredDocument>;
  /** The complete document of this name; null if there is none, or a damaged one. */
  find(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<StoredDocument | null>;
  read(name: string): Promise<Buffer>;
  exists(name: string): Promise<boolean>;
  /** An absolute path, or `s3://bucket/prefix/name`. @throws RangeError for an invalid name */
  pathOf(name: string): string;
  /** Writes, reads, lists and removes a small file. Rejects with the system's error. */
  probe(): Promise<void>;
  /** Renames a damaged document, so that a new one can be stored. @returns false if there is none */
  setAside(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<boolean>;
  /** Removes workbooks that were handed in before this time, and no other document. @returns how many */
  removeHandedIn(before: Date): Promise<number>;
}

/** A stored document with the SHA-256 (hex) of its current content; null if it is gone. */
export async function readWithHash(
  store: Pick<DocumentStore, 'exists' | 'read'>,
  name: string,
): Promise<{ content: Buffer; sha256: string } | null> {
  if (!(await store.exists(name))) return null;
  const content = await store.read(name);
  return { content, sha256: createHash('sha256').update(content).digest('hex') };
}
