import type { Readable } from 'node:stream';
import type { Mode } from '../domain/names';
import type { DocumentKind } from './document-name';
import type { Records } from './records';

export interface StoredDocument {
  /** File name inside the store: what the ledger keeps and every other method takes. */
  name: string;
  /** Where it is, for a person: an absolute path, or `s3://bucket/prefix/name`. */
  path: string;
  /** SHA-256 of the content, hex. */
  sha256: string;
  bytes: number;
}

/** The content comes as a stream, which is never held whole, or as a buffer. */
type DocumentInput = DocumentDescription & ({ stream: Readable } | { buffer: Buffer });

interface DocumentDescription {
  /** For a certificate its eBRC number; the file name is made from it alone. */
  name: string;
  kind: DocumentKind;
  /** For a certificate the mode that it was issued in. */
  mode?: Mode;
  /** Length that was announced (Content-Length); the document must have it. */
  expectedBytes?: number;
}

/**
 * Keeps certificates and workbooks, as files of a folder or objects of a bucket. Whatever is under a name is whole and
 * checked. Records stand beside them.
 */
export interface DocumentStore extends Records {
  /**
   * Checks and stores a document, all or nothing. The same content again is fine; another content under a name that is
   * taken is refused, unless what is there is damaged: then it is replaced. A certificate may come out differently each
   * time it is fetched, so ask `find` before fetching. Rejects with {@link DocumentError}, with what the stream failed
   * with, or with the system's error (disk full).
   */
  put(input: DocumentInput): Promise<StoredDocument>;
  /** What is stored whole for a certificate or workbook of this name; null if nothing is, or something damaged. */
  find(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<StoredDocument | null>;
  read(name: string): Promise<Buffer>;
  exists(name: string): Promise<boolean>;
  /**
   * Where a stored name is: an absolute path, or `s3://bucket/prefix/name`. Throws a RangeError for anything that is
   * not one.
   */
  pathOf(name: string): string;
  /** SHA-256 of what is stored now, hex. */
  sha256Of(name: string): Promise<string>;
  /** Moves a damaged document out of the way of a new one, and keeps it beside. False where there is none. */
  setAside(input: { name: string; kind: DocumentKind; mode?: Mode }): Promise<boolean>;
}
