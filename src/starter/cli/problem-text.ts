import { printable } from '../../domain/text';
import type { Problem } from '../errors';

/** Findings and other problems as lines for people: where, then what. What would let rows pass is said once. */
export function describeProblems(problems: readonly Problem[]): string {
  const permits = new Set(
    problems.flatMap(({ allowDuplicate, message }) =>
      allowDuplicate && !message.includes(allowDuplicate) ? [allowDuplicate] : [],
    ),
  );
  return [
    ...problems.map(describeProblem),
    ...[...permits].map((rows) => `Only where a second certificate is meant: --allow-duplicate ${rows}.`),
  ].join('\n');
}

/** `1 error`, `2 errors`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** That nothing was sent, and how much is in the way; before the problems themselves. */
export function nothingFiled(problems: readonly Problem[]): string {
  const rows = new Set(problems.flatMap(({ row }) => (row === null || row === undefined ? [] : [row])));
  const errors = problems.filter(({ severity = 'error' }) => severity === 'error');
  return `Nothing was filed: ${counted(errors.length, 'error')}${rows.size > 0 ? ` in ${counted(rows.size, 'row')}` : ''}.`;
}

function describeProblem({ severity = 'error', row, column, field, message, filingId }: Problem): string {
  // The message names the column as the sheet does.
  const place = [row != null ? `row ${row}` : null, field].filter((part) => part !== null && part !== undefined);
  const where = column !== undefined && row != null ? `cell ${column}${row}` : place.join(', ');
  const holder = filingId === undefined || message.includes(filingId) ? '' : ` (filing ${filingId})`;
  return printable(`${severity === 'error' ? 'Error' : 'Warning'}${where ? ` in ${where}` : ''}: ${message}${holder}`);
}
