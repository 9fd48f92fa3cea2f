import type { Readable } from 'node:stream';
import type { Mode } from '../domain/names';
import type { Records } from './records';
import { createHash } from 'node:crypto';
import type { ErrorKind } from '../domain/service/error-kinds';

/** Certificates are PDFs, filings and reports are workbooks, and a report can also be a page. */
export type DocumentKind = 'pdf' | 'xlsx' | 'html';

/** Short words of capitals are device names on some systems (`CON`, `COM1`); numbers that look like one get a hash. */
const PLAIN = /^[A-Z0-9]{5,80}$/u;
const STORED = /^(test\.)?[A-Z0-9_-]{1,80}(~[0-9a-f]{32})?\.(pdf|xlsx|html)$/u;

/**
 * The file name, made only from `name`: capitals and digits unchanged, else a readable part, `~` and a hash of the
 * whole, so that two numbers never share a file and no name leaves the folder. Test mode starts with `test.`: one
 * number in both modes is two certificates.
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

/** Whether a text is a file name that {@link documentName} can have produced. */
export function isDocumentName(text: string): boolean {
  return STORED.test(text);
}

/** @throws RangeError for a text that {@link documentName} cannot have made */
export function assertDocumentName(text: string): void {
  if (!isDocumentName(text)) throw new RangeError(`${JSON.stringify(text)} is not the name of a stored document.`);
}

/** A document that was not stored. bad_answer: invalid content, fetch again; conflict: a person has to look. */
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

/** What a probe says of a store that does not have what was just written. */
export const unreadable = (root: string): Error => new Error(`${root} does not show what was just written to it`);

export interface StoredDocument {
  /** File name inside the store: the ledger stores it, and all other methods take it. */
  name: string;
  /** Its location for people: an absolute path, or `s3://bucket/prefix/name`. */
  path: string;
  /** SHA-256 of the content, hex. */
  sha256: string;
  bytes: number;
}

/** Stores certificates and workbooks in a folder or a bucket, complete and checked, and records beside them. */
export interface DocumentStore extends Records {
  /**
   * Stores a document, all or nothing. The same content succeeds; other content under a taken name is refused unless
   * what is stored is damaged. A certificate's bytes may vary: call `find` before fetching. Rejects with {@link
   * DocumentError} or the system's error.
   */
  put(
    input: {
      /** For a certificate its eBRC number; the file name is made only from it. */
      name: string;
      kind: DocumentKind;
      /** For a certificate the mode that it was issued in. */
      mode?: Mode;
      /** Announced length (Content-Length), which the document must have. */
      expectedBytes?: number;
    } & ({ stream: Readable } | { buffer: Buffer }),
  ): Promise<StoredDocument>;
  /** The complete document of this name; null if there is none, or if it is damaged. */
  find(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<StoredDocument | null>;
  read(name: string): Promise<Buffer>;
  exists(name: string): Promise<boolean>;
  /** An absolute path, or `s3://bucket/prefix/name`. @throws RangeError for an invalid name */
  pathOf(name: string): string;
  /** Writes, reads, lists and removes something small. Rejects with the system's error where one of them fails. */
  probe(): Promise<void>;
  /** Moves a damaged document aside and keeps it, so that a new one can be stored. False if there is none. */
  setAside(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<boolean>;
}

/** A stored document as it is now, with its SHA-256 in hex; null where it is gone. */
export async function readWithHash(
  store: Pick<DocumentStore, 'exists' | 'read'>,
  name: string,
): Promise<{ content: Buffer; sha256: string } | null> {
  if (!(await store.exists(name))) return null;
  const content = await store.read(name);
  return { content, sha256: createHash('sha256').update(content).digest('hex') };
}
