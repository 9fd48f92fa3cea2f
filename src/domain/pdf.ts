/** The header of a PDF is within this many bytes (ISO 32000-1, annex H). */
const HEAD_BYTES = 1_024;
const END = Buffer.from('%%EOF');
const OBJECT = Buffer.from(' obj');
const OVERLAP_BYTES = 16;

/** A header at the start, after a byte order mark or PDF white space. */
const HEADER_AT_START = /^(?:\xef\xbb\xbf|[\0\t\n\f\r ])*%PDF-/u;
/** A header after other bytes (of a mail or a printer); with its version and line end, because a text may quote one. */
const HEADER_WITHIN = /%PDF-\d\.\d[\0\t\n\f\r ]/u;

/** Checks whether a stream is a complete PDF: an object after the last end marker means that the rest is missing. */
export class PdfScan {
  private head = Buffer.alloc(0);
  private carried = Buffer.alloc(0);
  private bytes = 0;
  private endAt = -1;
  private objectAt = -1;

  push(piece: Buffer): this {
    if (this.head.length < HEAD_BYTES) this.head = Buffer.concat([this.head, piece]).subarray(0, HEAD_BYTES);
    const seen = Buffer.concat([this.carried, piece]);
    const from = this.bytes - this.carried.length;
    const end = seen.lastIndexOf(END);
    if (end >= 0) this.endAt = from + end;
    const object = lastObject(seen);
    if (object >= 0) this.objectAt = from + object;
    this.bytes += piece.length;
    // A copy, because a slice would keep the whole piece in memory.
    this.carried = Buffer.from(seen.subarray(-OVERLAP_BYTES));
    return this;
  }

  /** Call after the last piece. @returns what is wrong with the PDF; null if it is complete */
  problem(): string | null {
    if (this.bytes === 0) return 'the PDF is empty';
    if (!startsAsPdf(this.head)) return 'it is not a PDF: its first bytes are something else';
    return this.endAt > this.objectAt ? null : 'the PDF is cut short: its end marker is missing';
  }
}

function startsAsPdf(head: Buffer): boolean {
  const text = head.toString('latin1');
  return HEADER_AT_START.test(text) || HEADER_WITHIN.test(text);
}

/** The position of the last object header, such as `12 0 obj`: a digit before ` obj`, no letter after it. */
function lastObject(bytes: Buffer): number {
  for (let at = bytes.lastIndexOf(OBJECT); at > 0; at = bytes.lastIndexOf(OBJECT, at - 1)) {
    const before = bytes[at - 1] ?? 0;
    const after = bytes[at + OBJECT.length] ?? 0x20;
    if (before >= 0x30 && before <= 0x39 && !/[a-z]/iu.test(String.fromCharCode(after))) return at;
  }
  return -1;
}

/** "Under 5 MB" (spec: "Extraction service"). */
export const MAX_EXTRACTION_BYTES = 5 * 1024 * 1024 - 1;

/** Why the extraction service cannot get a file, or null. @param bytes its size, if `content` is only its start */
export function pdfProblem(
  content: Buffer,
  bytes: number = content.length,
): { code: 'empty' | 'too_large' | 'not_a_pdf'; message: string } | null {
  if (bytes === 0) return { code: 'empty', message: 'the file is empty' };
  if (bytes > MAX_EXTRACTION_BYTES) {
    const message = `the file has ${bytes} bytes, and the service takes PDFs of at most ${MAX_EXTRACTION_BYTES}; make it smaller or split it`;
    return { code: 'too_large', message };
  }
  const problem = new PdfScan().push(content).problem();
  return problem === null ? null : { code: 'not_a_pdf', message: problem };
}

/** Whether a PDF is encrypted: it may need a password to open, or only restrict printing. */
export const isEncrypted = (content: Buffer): boolean => content.includes('/Encrypt');
