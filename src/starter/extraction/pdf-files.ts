import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MAX_EXTRACTION_BYTES, pdfProblem } from '../../domain/extraction/pdf-problem';
import { UsageError } from '../errors';

/** A PDF that can be sent, or the reason why it cannot. */
export interface PdfFile {
  file: string;
  name: string;
  /** Null for a file that is too large to be read. */
  sha256: string | null;
  content: Buffer;
  problem: { code: string; message: string } | null;
}

/**
 * The PDFs that the arguments name: each named file, and for a folder every .pdf in it and below, by name. Each file
 * once.
 * @throws UsageError for a missing file, and for folders without a PDF
 */
export async function pdfPaths(paths: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    const info = await stat(path).catch(() => {
      throw new UsageError(`${path}: there is no such file, or it cannot be read.`, 'no_file');
    });
    if (!info.isDirectory()) {
      found.add(path);
      continue;
    }
    const inside = (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && entry.name.toLowerCase().endsWith('.pdf'))
      .map((entry) => join(entry.parentPath, entry.name));
    if (inside.length === 0) throw new UsageError(`${path}: there is no PDF in this folder.`, 'no_file');
    for (const file of inside.sort()) found.add(file);
  }
  return [...found];
}

/** Reads a file, if it may be sent, and checks it. */
export async function readPdf(file: string): Promise<PdfFile> {
  const name = basename(file);
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const content = size > MAX_EXTRACTION_BYTES ? Buffer.alloc(0) : await handle.readFile();
      const sha256 = size > MAX_EXTRACTION_BYTES ? null : createHash('sha256').update(content).digest('hex');
      return { file, name, sha256, content, problem: pdfProblem(content, Math.max(size, content.length)) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    const problem = { code: 'no_file', message: `the file cannot be read (${code})` };
    return { file, name, sha256: null, content: Buffer.alloc(0), problem };
  }
}
