import type { Readable } from 'node:stream';
import type { Mode } from '../domain/names';
import type { DocumentKind } from './document-name';
import type { Records } from './records';

export interface StoredDocument {
  /** File name inside the store: the ledger stores it, and all other methods take it. */
  name: string;
  /** Its location for people: an absolute path, or `s3://bucket/prefix/name`. */
  path: string;
  /** SHA-256 of the content, hex. */
  sha256: string;
  bytes: number;
}

/** The content as a stream, which is never held completely in memory, or as a buffer. */
type DocumentInput = DocumentDescription & ({ stream: Readable } | { buffer: Buffer });

interface DocumentDescription {
  /** For a certificate its eBRC number; the file name is made only from it. */
  name: string;
  kind: DocumentKind;
  /** For a certificate the mode that it was issued in. */
  mode?: Mode;
  /** Announced length (Content-Length), which the document must have. */
  expectedBytes?: number;
}

/**
 * Stores certificates and workbooks, as files of a folder or objects of a bucket. Every stored document is complete and
 * checked. Records are stored beside them.
 */
export interface DocumentStore extends Records {
  /**
   * Checks and stores a document, all or nothing. Storing the same content again succeeds; different content under a
   * taken name is refused, unless the stored document is damaged: then it is replaced. A certificate may have different
   * bytes each time it is fetched, so call `find` before fetching. Rejects with {@link DocumentError}, with the error
   * of the stream, or with the system's error (disk full).
   */
  put(input: DocumentInput): Promise<StoredDocument>;
  /** The complete document of this name; null if there is none, or if it is damaged. */
  find(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<StoredDocument | null>;
  read(name: string): Promise<Buffer>;
  exists(name: string): Promise<boolean>;
  /**
   * The location of a stored name: an absolute path, or `s3://bucket/prefix/name`. Throws a RangeError for an invalid
   * name.
   */
  pathOf(name: string): string;
  /** SHA-256 of the stored content, hex. */
  sha256Of(name: string): Promise<string>;
  /** Moves a damaged document aside and keeps it, so that a new one can be stored. False if there is none. */
  setAside(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<boolean>;
}
