import type { Finding } from '../../domain/rules/finding';

/**
 * Marks on cells: a fill and a note. They can be distinguished from the user's own, so that a later run can remove
 * them.
 */

export const FILLS = { error: 'FFFFC7CE', warning: 'FFFFEB9C' } as const;
export const NOTE_START = 'eBRC check:\n';

export type Severity = Finding['severity'];
