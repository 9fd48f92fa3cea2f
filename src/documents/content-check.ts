import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { DocumentKind } from './document-name';

interface ContentRule {
  start: Buffer;
  end: Buffer;
  /** How far from the end of the file its end marker may begin. */
  endWithin: number;
  what: string;
}

const RULES: Readonly<Record<DocumentKind, ContentRule>> = {
  pdf: { start: Buffer.from('%PDF'), end: Buffer.from('%%EOF'), endWithin: 1_024, what: 'PDF' },
  // A workbook is a zip file: local header first, the end record last, with a comment of at most 64 KB behind it.
  xlsx: { start: Buffer.from('PK\x03\x04'), end: Buffer.from('PK\x05\x06'), endWithin: 65_557, what: 'workbook' },
};

/** Passes a document through, and knows its length, hash, start and end when it has passed. Holds 64 KB at most. */
export class ContentCheck extends Transform {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly rule: ContentRule;
  private head = Buffer.alloc(0);
  private tail = Buffer.alloc(0);

  constructor(kind: DocumentKind) {
    super();
    this.rule = RULES[kind];
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += piece.length;
    this.hash.update(piece);
    if (this.head.length < this.rule.start.length) {
      this.head = Buffer.concat([this.head, piece]).subarray(0, this.rule.start.length);
    }
    // Copied, so that the tail does not keep a large piece in memory.
    this.tail = Buffer.from(Buffer.concat([this.tail, piece]).subarray(-this.rule.endWithin));
    done(null, piece);
  }

  /** SHA-256 of the whole, hex. Once, at the end. */
  sha256(): string {
    return this.hash.digest('hex');
  }

  /** What is wrong with the document that has passed; null when nothing is. */
  problem(expectedBytes: number | undefined): string | null {
    const { rule } = this;
    if (this.bytes === 0) return `the ${rule.what} is empty`;
    if (!this.head.equals(rule.start)) return `it is not a ${rule.what}: its first bytes are something else`;
    if (expectedBytes !== undefined && this.bytes !== expectedBytes) {
      return `the ${rule.what} has ${this.bytes} bytes, ${expectedBytes} were announced`;
    }
    if (!this.tail.includes(rule.end)) return `the ${rule.what} is cut short: its end marker is missing`;
    return null;
  }
}
