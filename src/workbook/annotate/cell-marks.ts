import type { Finding } from '../../domain/rules/finding';

/**
 * Marks on cells: a fill and a note. They can be distinguished from the user's own, so that a later run can remove
 * them.
 */

export const FILLS = { error: 'FFFFC7CE', warning: 'FFFFEB9C' } as const;
export const NOTE_START = 'eBRC check:\n';

export type Severity = Finding['severity'];

/**
 * Text for people, made safe in case a spreadsheet takes it for a formula after an export to CSV. Only for text that is
 * shown: a filed value is never changed.
 */
export function harmless(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
