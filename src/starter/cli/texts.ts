import { headerOf } from '../../domain/rules/columns';
import { rowRuns } from '../../domain/rules/duplicates';
import { listed } from '../../domain/rules/value-messages';
import { groupBy } from '../../domain/values';
import { counted, printable } from '../../domain/text';
import type { Problem } from '../errors';
import type { FilingState, RowState } from '../../domain/filing/states';
import type { ExporterProgress } from '../../domain/contracts';
import { toned, type Tone } from './page';

const MOST_PLACES = 12;

/** Findings and other problems as lines for people. The option that permits duplicates is printed once. */
export function describeProblems(problems: readonly Problem[]): string {
  const isSaid = (option: string) => problems.some(({ message }) => message.includes(option));
  const permits = new Set(
    problems.flatMap(({ allowDuplicate }) => (allowDuplicate && !isSaid(allowDuplicate) ? [allowDuplicate] : [])),
  );
  const alike = groupBy(problems, ({ severity = 'error', column, field, message, filingId }) =>
    JSON.stringify([severity, column, field, message, filingId]),
  );
  return [
    ...[...alike.values()].map(describeAlike),
    ...[...permits].map((rows) => `Only where a second certificate is meant: --allow-duplicate ${rows}.`),
  ].join('\n');
}

/** Says that nothing was filed, and how many errors are in the way; printed before the errors. */
export function nothingFiled(problems: readonly Problem[]): string {
  const rows = new Set(problems.flatMap(({ row }) => (row === null || row === undefined ? [] : [row])));
  const errors = problems.filter(({ severity = 'error' }) => severity === 'error');
  return `Nothing was filed: ${counted(errors.length, 'error')}${rows.size > 0 ? ` in ${counted(rows.size, 'row')}` : ''}.`;
}

/** One line for the same problem in several rows, so that it does not hide the other problems. */
function describeAlike(alike: readonly [Problem, ...Problem[]]): string {
  const [{ severity = 'error', column, field, message, filingId }] = alike;
  const rows = [...new Set(alike.flatMap(({ row }) => row ?? []))];
  const runs = rowRuns(rows);
  // Cells are named by the column's letter, as in the sheet.
  const name = column === undefined ? null : runs.map((run) => run.replace(/\d+/gu, `${column}$&`));
  const cells = name && name.length > 0 ? `cell${rows.length > 1 ? 's' : ''} ${listed(name, MOST_PLACES)}` : null;
  const place = [runs.length > 0 && `row${rows.length > 1 ? 's' : ''} ${listed(runs, MOST_PLACES)}`, headerOf(field)];
  // Messages about an input field or a variable begin with its name.
  const isNamed = runs.length === 0 && typeof field === 'string' && message.startsWith(field);
  const where = isNamed ? '' : (cells ?? place.filter(Boolean).join(', '));
  const holder = filingId === undefined || message.includes(filingId) ? '' : ` (filing ${filingId})`;
  return printable(`${severity === 'error' ? 'Error' : 'Warning'}${where ? ` in ${where}` : ''}: ${message}${holder}`);
}

const TONES: Readonly<Partial<Record<FilingState | RowState | ExporterProgress['state'], Tone>>> = {
  certified: 'good',
  ready: 'good',
  awaiting_approval: 'waits',
  needs_credentials: 'waits',
  needs_access: 'waits',
  overdue: 'waits',
  activation_pending: 'waits',
  partly_certified: 'bad',
  rejected: 'bad',
  refused: 'bad',
  needs_correction: 'bad',
  outcome_unknown: 'bad',
};

/** A state, coloured by whether it is reached, waits for somebody, or is wrong. */
export const stateCell = (state: string) => toned(state, TONES[state as FilingState] ?? null);
