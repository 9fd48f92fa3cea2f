import type { Finding } from '../../domain/rules/finding';

/**
 * Marks on cells: a fill and a note. They can be told from the user's own, so that a later run takes them away again.
 */

export const FILLS = { error: 'FFFFC7CE', warning: 'FFFFEB9C' } as const;
export const NOTE_START = 'eBRC check:\n';

export type Severity = Finding['severity'];

/**
 * Text that a person opens, made harmless where a spreadsheet would take it for a formula after a detour through CSV.
 * Only for text that is shown: a value that is filed is never changed.
 */
export function harmless(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
