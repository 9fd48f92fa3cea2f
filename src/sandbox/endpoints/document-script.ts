import { z } from 'zod';

/** Sets the extraction service's answer to a document; a feature of the sandbox alone. */
const script = z.strictObject({
  /** The data of the answer, instead of derived values. */
  data: z.unknown().optional(),
  /**
   * `error`: status error with a reason; `500`, `429`, `401`: these, unwrapped; `cut`: half an answer; `other-shape`:
   * JSON that the specification does not show.
   */
  answer: z.enum(['error', '500', '429', '401', 'cut', 'other-shape']).optional(),
  /** How often `answer` is given before `data` is; always where left out. */
  times: z.number().int().positive().optional(),
});
export type DocumentScript = z.infer<typeof script>;

const MARK = '%ebrc-sandbox ';

/** The script in a PDF: a comment line `%ebrc-sandbox {…}`. Null where there is no readable one. */
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

/** A PDF of one empty page that contains a script. */
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
