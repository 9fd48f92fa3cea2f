import { printable } from '../../domain/text';
import type { Problem } from '../errors';

/** Findings and other problems as lines for people: where, then what. */
export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(describeProblem).join('\n');
}

function describeProblem({ severity = 'error', row, column, field, message, filingId }: Problem): string {
  const cell = column !== undefined && row != null ? `cell ${column}${row}` : row != null ? `row ${row}` : null;
  const where = [cell, field].filter((part) => part !== null && part !== undefined).join(', ');
  const holder = filingId === undefined || message.includes(filingId) ? '' : ` (filing ${filingId})`;
  return printable(`${severity === 'error' ? 'Error' : 'Warning'}${where ? ` in ${where}` : ''}: ${message}${holder}`);
}
