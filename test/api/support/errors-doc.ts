import { ERROR_KIND_NAMES, ERROR_KINDS, type ErrorKind } from '../../../src/domain/service/error-kinds';
import { OPERATION_NAMES, OPERATIONS, type Operation } from '../../../src/domain/service/operations';
import { decide, type Decision, type Schedule } from '../../../src/domain/service/retry-table';
import { DOCUMENTED_ERRORS, SERVICE_OPERATIONS, type DocumentedError } from './documented-errors';

const READS = OPERATION_NAMES.filter((operation) => !OPERATIONS[operation].submits);

const WAITS: Record<Extract<Decision, { action: 'wait' }>['until'], string> = {
  activates_at: 'wait until `activatesAt`, looking again',
  fuse: 'wait until the fuse is closed again,',
  rate_window: 'wait for the rate window,',
  certificate: 'wait for the certificate,',
  acknowledgement: 'wait for the acknowledgement,',
};

const PAUSES: Record<Extract<Decision, { action: 'pause' }>['state'], string> = {
  needs_credentials: 'looking for newer credentials',
  needs_access: 'trying again',
};

/** The generated part of docs/errors.md. */
export function renderErrors(): string {
  return [
    '## Errors that the specification documents',
    '',
    table(['section', 'status', 'message or code', 'operations', 'kind', 'what the worker does'], documentedRows()),
    '',
    '## Every kind',
    '',
    table(['kind', 'meaning', 'a call that may be repeated', '`pushIrm`, `bulkUpload`'], kindRows()),
  ].join('\n');
}

function documentedRows(): string[][] {
  return DOCUMENTED_ERRORS.flatMap((row) => {
    const submissions = row.operations.filter((operation) => OPERATIONS[operation].submits);
    const reads = row.operations.filter((operation) => !OPERATIONS[operation].submits);
    const kind = row.submissionKind ?? row.kind;
    const split =
      kind !== row.kind ||
      [...submissions, ...reads].some((one) => words(one, row.kind) !== words(row.operations[0], row.kind));
    if (!split) return [documentedRow(row, row.operations, row.kind)];
    return [
      ...(reads.length > 0 ? [documentedRow(row, reads, row.kind)] : []),
      ...(submissions.length > 0 ? [documentedRow(row, submissions, kind)] : []),
    ];
  });
}

function documentedRow(row: DocumentedError, operations: readonly Operation[], kind: ErrorKind): string[] {
  const all = operations.length === SERVICE_OPERATIONS.length;
  const reads = SERVICE_OPERATIONS.filter((operation) => !OPERATIONS[operation].submits);
  const names = operations.map((operation) => `\`${operation}\``).join(', ');
  const shown = all
    ? 'all'
    : operations.length === reads.length && !submits(operations[0])
      ? 'all but the submissions'
      : names;
  return [row.section, String(row.status), row.shown, shown, `\`${kind}\``, words(operations[0], kind)];
}

function submits(operation: Operation | undefined): boolean {
  return operation !== undefined && OPERATIONS[operation].submits;
}

function kindRows(): string[][] {
  return ERROR_KIND_NAMES.map((kind) => {
    const usual = words('getCustomer', kind);
    const exceptions = READS.filter((operation) => words(operation, kind) !== usual).map(
      (operation) => `; \`${operation}\`: ${words(operation, kind)}`,
    );
    return [`\`${kind}\``, ERROR_KINDS[kind], usual + exceptions.join(''), words('pushIrm', kind)];
  });
}

function words(operation: Operation | undefined, kind: ErrorKind): string {
  if (operation === undefined) return '';
  const decision = decide(operation, kind);
  switch (decision.action) {
    case 'retry':
      return `retry ${schedule(decision.schedule)}`;
    case 'wait':
      return `${WAITS[decision.until]} ${schedule(decision.schedule)}`;
    case 'pause':
      return `pause in \`${decision.state}\`, ${PAUSES[decision.state]} ${schedule(decision.schedule)}`;
    case 'resend':
      return `new attempt by the workflow ${schedule(decision.schedule)}`;
    case 'unknown':
      return 'settle by evidence, never send again on a guess';
    case 'refuse':
      return 'refuse: an outcome, not repeated';
  }
}

function schedule({ initialMs, factor, maxMs, maxAttempts }: Schedule): string {
  const times = maxAttempts === undefined ? '' : `, ${maxAttempts} times at most`;
  return factor === 1
    ? `every ${span(initialMs)}${times}`
    : `after ${span(initialMs)} growing to ${span(maxMs)}${times}`;
}

function span(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`;
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
