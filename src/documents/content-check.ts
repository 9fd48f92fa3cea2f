import { createHash } from 'node:crypto';
import { Transform, Writable, type Readable, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PdfScan } from '../domain/pdf';
import type { DocumentKind } from './stored-document';

interface Scan {
  push(piece: Buffer): unknown;
  /** What is wrong with the document, once all of it has passed; null if it is complete. */
  problem(): string | null;
}

const WORKBOOK_START = Buffer.from('PK\x03\x04');
const WORKBOOK_END = Buffer.from('PK\x05\x06');
/** The end record of a zip file may be followed by a comment of at most 64 KB. */
const WORKBOOK_END_WITHIN = 65_557;

/** A workbook is a zip file: local header first, the end record last. */
class WorkbookScan implements Scan {
  private head = Buffer.alloc(0);
  private tail = Buffer.alloc(0);

  push(piece: Buffer): void {
    if (this.head.length < WORKBOOK_START.length) {
      this.head = Buffer.concat([this.head, piece]).subarray(0, WORKBOOK_START.length);
    }
    // Copied, because a slice would keep the whole large piece in memory.
    this.tail = Buffer.from(Buffer.concat([this.tail, piece]).subarray(-WORKBOOK_END_WITHIN));
  }

  problem(): string | null {
    if (this.head.length === 0) return 'the workbook is empty';
    if (!this.head.equals(WORKBOOK_START)) return 'it is not a workbook: its first bytes are something else';
    return this.tail.includes(WORKBOOK_END) ? null : 'the workbook is cut short: its end marker is missing';
  }
}

const PAGE_START = '<!doctype html>';
const PAGE_END = '</html>';

class PageScan implements Scan {
  private head = '';
  private tail = '';

  push(piece: Buffer): void {
    // Both marks are ASCII, so a character that is split between two pieces does not matter.
    const text = piece.toString('latin1');
    if (this.head.length < PAGE_START.length) this.head = (this.head + text).slice(0, PAGE_START.length);
    this.tail = (this.tail + text).slice(-PAGE_END.length - 2);
  }

  problem(): string | null {
    if (this.head.length === 0) return 'the page is empty';
    if (this.head.toLowerCase() !== PAGE_START) return 'it is not a page: its first bytes are something else';
    return this.tail.trimEnd().endsWith(PAGE_END) ? null : 'the page is cut short: its end is missing';
  }
}

const SCANS: Readonly<Record<DocumentKind, { what: string; make: () => Scan }>> = {
  pdf: { what: 'PDF', make: () => new PdfScan() },
  xlsx: { what: 'workbook', make: () => new WorkbookScan() },
  html: { what: 'page', make: () => new PageScan() },
};

/** Passes a document through and determines its length, its hash and whether it is complete. Holds at most 64 KB. */
export class ContentCheck extends Transform {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly scan: Scan;

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

  /** SHA-256 of the whole, hex. Once, at the end. */
  sha256(): string {
    return this.hash.digest('hex');
  }

  /** What is wrong with the document; null if it is complete. */
  problem(expectedBytes?: number): string | null {
    if (expectedBytes !== undefined && this.bytes > 0 && this.bytes !== expectedBytes) {
      return `the ${SCANS[this.kind].what} has ${this.bytes} bytes, ${expectedBytes} were announced`;
    }
    return this.scan.problem();
  }
}

/** Reads a stored document to its end, and returns the finished check. */
export async function checkContent(source: Readable, kind: DocumentKind): Promise<ContentCheck> {
  const check = new ContentCheck(kind);
  await pipeline(source, check, new Writable({ write: (_piece, _encoding, done) => done() }));
  return check;
}
