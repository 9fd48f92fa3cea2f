import { createHash } from 'node:crypto';
import { canonicalContent, type FilingContent } from '../../domain/filing/content-hash';
import { permittedRows, type PermittedDuplicate } from '../../domain/rules/duplicates';

/** SHA-256 of a filing's content. */
export function contentHashOf(content: FilingContent): string {
  return sha256(canonicalContent(content));
}

/**
 * The reference of a filing that was given none, made from its content, so that the same file finds the same filing.
 * Permitted duplicates are part of it, because such a file must not find the first filing.
 */
export function referenceOf(contentHash: string, permitted: readonly PermittedDuplicate[] = []): string {
  const rows = [...permittedRows(permitted)].sort((a, b) => a - b);
  return (rows.length === 0 ? contentHash : sha256(JSON.stringify([contentHash, rows]))).slice(0, 16);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
