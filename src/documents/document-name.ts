import { createHash } from 'node:crypto';

export type DocumentKind = 'pdf' | 'xlsx';

/** Short words of capitals are device names on some systems (`CON`, `COM1`); numbers that look like one get a hash. */
const PLAIN = /^[A-Z0-9]{5,80}$/u;
const STORED = /^[A-Z0-9_-]{1,80}(~[0-9a-f]{32})?\.(pdf|xlsx)$/u;

/**
 * The file name of a document, made from `name` (for a certificate its eBRC number) and nothing else, so that whoever
 * knows the number finds the file. A name of capitals and digits stays as it is. Any other gets its readable part and
 * a hash of the whole behind `~`, which no plain name has: two numbers never share a file, not even where the file
 * system does not tell `a` from `A`, and none can point outside the folder.
 */
export function documentName(name: string, kind: DocumentKind): string {
  if (PLAIN.test(name)) return `${name}.${kind}`;
  const readable =
    name
      .toUpperCase()
      .replace(/[^A-Z0-9_-]+/gu, '_')
      .slice(0, 60) || '_';
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return `${readable}~${hash}.${kind}`;
}

/** Whether a text is a file name that {@link documentName} can have made. */
export function isDocumentName(text: string): boolean {
  return STORED.test(text);
}
