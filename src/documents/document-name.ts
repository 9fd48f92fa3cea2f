import { createHash } from 'node:crypto';
import type { Mode } from '../domain/names';

/** Certificates are PDFs, filings and reports are workbooks, and a report can also be a page. */
export type DocumentKind = 'pdf' | 'xlsx' | 'html';

/** Short words of capitals are device names on some systems (`CON`, `COM1`); numbers that look like one get a hash. */
const PLAIN = /^[A-Z0-9]{5,80}$/u;
const STORED = /^(test\.)?[A-Z0-9_-]{1,80}(~[0-9a-f]{32})?\.(pdf|xlsx|html)$/u;

/**
 * The file name of a document, made only from `name` (for a certificate its eBRC number), so that anybody who knows the
 * number finds the file. A name of capitals and digits is used unchanged. Any other name becomes its readable part,
 * `~`, which no plain name contains, and a hash of the whole: two numbers never share a file, even if the file system
 * does not distinguish `a` from `A`, and no name can point outside the folder. Names of test mode start with `test.`,
 * which no other name does: the same number in both modes is two certificates.
 */
export function documentName(name: string, kind: DocumentKind, mode?: Mode): string {
  const prefix = mode === 'test' ? 'test.' : '';
  if (PLAIN.test(name)) return `${prefix}${name}.${kind}`;
  const readable =
    name
      .toUpperCase()
      .replace(/[^A-Z0-9_-]+/gu, '_')
      .slice(0, 60) || '_';
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return `${prefix}${readable}~${hash}.${kind}`;
}

/** Whether a text is a file name that {@link documentName} can have produced. */
export function isDocumentName(text: string): boolean {
  return STORED.test(text);
}

/** @throws RangeError for a text that {@link documentName} cannot have made */
export function assertDocumentName(text: string): void {
  if (!isDocumentName(text)) throw new RangeError(`${JSON.stringify(text)} is not the name of a stored document.`);
}
