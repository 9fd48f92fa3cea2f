import { createHash } from 'node:crypto';
import { Transform, Writable, type Readable, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PdfScan } from '../domain/pdf';
import type { DocumentKind, StoredDocument } from './stored-document';

interface Scan {
  push(piece: Buffer): unknown;
  /** Call after the last piece. @returns what is wrong with the document; null if it is complete */
  problem(): string | null;
  /** What is odd about a document that is taken. */
  note?(): string | null;
}

/** A document with ASCII marks at its start and within its last `endWithin` bytes. */
class MarkedScan implements Scan {
  private head = Buffer.alloc(0);
  private tail = Buffer.alloc(0);

  constructor(
    private readonly what: string,
    private readonly marks: { start: string; end: string; endWithin: number },
  ) {}

  push(piece: Buffer): void {
    const { start, endWithin } = this.marks;
    if (this.head.length < start.length) this.head = Buffer.concat([this.head, piece]).subarray(0, start.length);
    // A copy, because a slice would keep the whole piece in memory.
    this.tail = Buffer.from(Buffer.concat([this.tail, piece]).subarray(-endWithin));
  }

  problem(): string | null {
    const { start, end } = this.marks;
    if (this.head.length === 0) return `the ${this.what} is empty`;
    if (this.head.toString('latin1') !== start) return `it is not a ${this.what}: its first bytes are something else`;
    return this.tail.includes(end) ? null : `the ${this.what} is cut short: its end marker is missing`;
  }
}

/** A zip file starts with a local header and ends with the end record and a comment of at most 64 KB. */
const WORKBOOK_MARKS = { start: 'PK\x03\x04', end: 'PK\x05\x06', endWithin: 65_557 };
/** A page ends with `</html>` and at most a line break. */
const PAGE_MARKS = { start: '<!doctype html>', end: '</html>', endWithin: '</html>\r\n'.length };

const SCANS: Readonly<Record<DocumentKind, { what: string; make: () => Scan }>> = {
  pdf: { what: 'PDF', make: () => new PdfScan() },
  xlsx: { what: 'workbook', make: () => new MarkedScan('workbook', WORKBOOK_MARKS) },
  html: { what: 'page', make: () => new MarkedScan('page', PAGE_MARKS) },
};

/** Passes a document through while checking its length, hash and completeness. Holds at most 64 KB. */
export class ContentCheck extends Transform {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly scan: Scan;
  private digest: string | undefined;

  constructor(private readonly kind: DocumentKind) {
    super();
    this.scan = SCANS[kind].make();
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += piece.length;
    this.hash.update(piece);
    this.scan.push(piece);
    done(null, piece);
  }

  /** SHA-256 of the document, hex. Call at the end. */
  sha256(): string {
    return (this.digest ??= this.hash.digest('hex'));
  }

  /** What is wrong with the document; null if it is complete. */
  problem(expectedBytes?: number): string | null {
    if (expectedBytes !== undefined && this.bytes > 0 && this.bytes !== expectedBytes) {
      return `the ${SCANS[this.kind].what} has ${this.bytes} bytes, ${expectedBytes} were announced`;
    }
    return this.scan.problem();
  }

  /** What the store tells of the document. */
  stored(name: string, path: string): StoredDocument {
    const note = this.scan.note?.() ?? null;
    return { name, path, sha256: this.sha256(), bytes: this.bytes, ...(note !== null && { note }) };
  }
}

/** Reads a stored document to its end. @returns the finished check */
export async function checkContent(source: Readable, kind: DocumentKind): Promise<ContentCheck> {
  const check = new ContentCheck(kind);
  await pipeline(source, check, new Writable({ write: (_piece, _encoding, done) => done() }));
  return check;
}
