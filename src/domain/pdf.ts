/** The header of a PDF is within this many bytes (ISO 32000-1, annex H). */
const HEAD_BYTES = 1_024;
/** The longest mark, with the numbers and blanks in it. */
const OVERLAP_BYTES = 64;
/** More lists of objects than any file has, which gets one with each change. */
const MAX_TABLES = 10_000;

/** A header at the start, after a byte order mark or PDF white space. */
const HEADER_AT_START = /^(?:\xef\xbb\xbf|[\0\t\n\f\r ])*%PDF-/u;
/** A header after other bytes (of a mail or a printer); with its version and line end, because a text may quote one. */
const HEADER_WITHIN = /%PDF-\d\.\d[\0\t\n\f\r ]/u;

/** `startxref` and its target, the end, lists of objects (a table or, in a stream, an object), objects, the trailer. */
const MARKS =
  /startxref[\0\t\n\f\r ]{1,4}(\d{1,10})|(%%EOF)|(?<!start)(xref)(?![a-z])|((?<!\d)\d{1,10}[\0\t\n\f\r ]{1,4}\d{1,5}[\0\t\n\f\r ]{1,4}obj(?![a-z]))|(\/XRef)(?![a-z])|\/Root(?![a-z])/giu;

/**
 * Checks whether a stream is a complete PDF: its last `startxref` leads to a list of its objects, and the end marker
 * follows. An object behind the last end marker means that the rest is missing.
 */
export class PdfScan {
  private head = Buffer.alloc(0);
  private carried = Buffer.alloc(0);
  private bytes = 0;
  private endAt = -1;
  private objectAt = -1;
  private startAt = -1;
  private target = -1;
  private hasTrailer = false;
  private readonly tables = new Set<number>();

  push(piece: Buffer): this {
    if (this.head.length < HEAD_BYTES) this.head = Buffer.concat([this.head, piece]).subarray(0, HEAD_BYTES);
    const seen = Buffer.concat([this.carried, piece]);
    const from = this.bytes - this.carried.length;
    for (const mark of seen.toString('latin1').matchAll(MARKS)) {
      // One that ended before the last piece did was seen then.
      if (mark.index + mark[0].length >= this.carried.length) this.take(mark, from + mark.index);
    }
    this.bytes += piece.length;
    // A copy, because a slice would keep the whole piece in memory.
    this.carried = Buffer.from(seen.subarray(-OVERLAP_BYTES));
    return this;
  }

  private take([, target, end, table, object, stream]: RegExpExecArray, at: number): void {
    if (target !== undefined) {
      this.startAt = at;
      this.target = Number(target);
    } else if (end) this.endAt = at;
    else if (object) this.objectAt = at;
    else if (table || stream) {
      if (this.tables.size < MAX_TABLES) this.tables.add(table ? at : this.objectAt);
    } else this.hasTrailer = true;
  }

  /** Call after the last piece. @returns what is wrong with the PDF; null if it is complete, or can be repaired */
  problem(): string | null {
    if (this.bytes === 0) return 'the PDF is empty';
    if (!startsAsPdf(this.head)) return 'it is not a PDF: its first bytes are something else';
    if (this.objectAt < 0 && this.endAt >= 0) return 'it is not a PDF: it has no objects';
    if (this.isComplete() || this.note() !== null) return null;
    return this.endAt > this.objectAt
      ? 'it is not a PDF that can be opened: it has no list of its objects'
      : 'the PDF is cut short: its end marker is missing';
  }

  /** What every reader repairs in a PDF of which nothing is missing; null if there is nothing. */
  note(): string | null {
    if (this.isComplete()) return null;
    if (this.leads() && this.startAt > this.objectAt)
      return 'its end marker is missing; PDF readers open it all the same';
    const ends = this.endAt > this.objectAt && HEADER_AT_START.test(this.head.toString('latin1'));
    return ends && this.hasTrailer
      ? 'the list of its objects is not where its end says; PDF readers search for the objects'
      : null;
  }

  private isComplete(): boolean {
    return this.leads() && this.endAt > Math.max(this.startAt, this.objectAt);
  }

  /** Places count from the header, or from the first byte where others are before it. A line end may come first. */
  private leads(): boolean {
    const header = Math.max(0, this.head.indexOf('%PDF-'));
    return [0, header].some((base) => [0, 1, 2].some((blank) => this.tables.has(base + this.target + blank)));
  }
}

function startsAsPdf(head: Buffer): boolean {
  const text = head.toString('latin1');
  return HEADER_AT_START.test(text) || HEADER_WITHIN.test(text);
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
