import { PdfScan } from '../pdf';
import { needsPassword } from './pdf-encryption';

/** "Under 5 MB" (spec: "Extraction service"). */
export const MAX_EXTRACTION_BYTES = 5 * 1024 * 1024 - 1;

export type PdfProblemCode = 'empty' | 'too_large' | 'not_a_pdf' | 'encrypted';

/**
 * Why a file cannot be sent to the extraction service; null if it can. @param bytes its length, if it is longer than
 * `content`
 */
export function pdfProblem(
  content: Buffer,
  bytes: number = content.length,
): { code: PdfProblemCode; message: string } | null {
  if (bytes === 0) return { code: 'empty', message: 'the file is empty' };
  if (bytes > MAX_EXTRACTION_BYTES) {
    const message = `the file has ${bytes} bytes, and the service takes PDFs of at most ${MAX_EXTRACTION_BYTES}; make it smaller or split it`;
    return { code: 'too_large', message };
  }
  const problem = new PdfScan().push(content).problem();
  if (problem !== null) return { code: 'not_a_pdf', message: problem };
  if (!needsPassword(content)) return null;
  return { code: 'encrypted', message: 'the PDF is encrypted; save it without a password' };
}
