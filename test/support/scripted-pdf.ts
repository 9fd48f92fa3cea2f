/** A PDF of one empty page with a script for the sandbox's extraction (docs/sandbox.md). */
export const scriptedPdf = (script: object): Buffer => pdfWith(`ebrc-sandbox ${JSON.stringify(script)}`);

/** A PDF of one empty page with a comment of one line. */
export function pdfWith(comment: string): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>',
  ];
  let text = `%PDF-1.4\n%${comment}\n`;
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
