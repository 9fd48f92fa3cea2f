import { z } from 'zod';

/** What a document makes the extraction service answer. The real service has nothing of the kind. */
const script = z.strictObject({
  /** The data that is answered, in the place of made-up values. */
  data: z.unknown().optional(),
  /**
   * `error`: status error with a reason; `500`, `429`, `401`: these, unwrapped; `cut`: half an answer; `other-shape`:
   * JSON that the specification does not show.
   */
  answer: z.enum(['error', '500', '429', '401', 'cut', 'other-shape']).optional(),
  /** How often the answer is given, until the data is; without end where left out. */
  times: z.number().int().positive().optional(),
});
export type DocumentScript = z.infer<typeof script>;

const MARK = '%ebrc-sandbox ';

/** The script in a PDF: a comment line `%ebrc-sandbox {…}`. Null where there is none, or none that can be read. */
export function scriptIn(content: Buffer): DocumentScript | null {
  const at = content.lastIndexOf(MARK);
  if (at < 0) return null;
  const end = content.indexOf('\n', at);
  try {
    return script.parse(JSON.parse(content.subarray(at + MARK.length, end < 0 ? undefined : end).toString('utf8')));
  } catch {
    return null;
  }
}

/** A PDF of one empty page with a script in it. Another script makes another document. */
export function scriptedPdf(script: DocumentScript): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>',
  ];
  let text = `%PDF-1.4\n${MARK}${JSON.stringify(script)}\n`;
  const offsets = objects.map((object, index) => {
    const offset = Buffer.byteLength(text);
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = Buffer.byteLength(text);
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  text += `xref\n0 4\n0000000000 65535 f \n${entries}trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text);
}
