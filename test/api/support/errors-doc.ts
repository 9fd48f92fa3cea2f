import { ERROR_KIND_NAMES, ERROR_KINDS, type ErrorKind } from '../../../src/domain/service/error-kinds';
import { OPERATION_NAMES, OPERATIONS, type Operation } from '../../../src/domain/service/operations';
import { decide, type Decision, type Schedule } from '../../../src/domain/service/retry-table';
import { DOCUMENTED_ERRORS } from './documented-errors';

const READS = OPERATION_NAMES.filter((operation) => !OPERATIONS[operation].submits);

const WAITS: Record<Extract<Decision, { action: 'wait' }>['until'], string> = {
  activates_at: 'for `activatesAt`',
  fuse: 'for the fuse',
  rate_window: 'for the window',
  certificate: 'for the certificate',
  acknowledgement: 'for the acknowledgement',
};

/** The generated part of docs/errors.md. */
export function renderErrors(): string {
  const head = ['kind', 'meaning', 'documented answers', 'other calls', '`pushIrm`, `bulkUpload`'];
  const rows = ERROR_KIND_NAMES.map((kind) => [
    `\`${kind}\``,
    ERROR_KINDS[kind],
    answersOf(kind),
    decisionsOnReads(kind),
    decisionOn('pushIrm', kind),
  ]);
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** What the service answers where a call fails with this kind, by status, beyond what the meaning says. */
function answersOf(kind: ErrorKind): string {
  const texts = new Map<number, Set<string>>();
  for (const { status, shown, kind: usual, submissionKind } of DOCUMENTED_ERRORS) {
    if (usual !== kind && submissionKind !== kind) continue;
    if (ERROR_KINDS[kind].includes(shown)) continue;
    texts.set(status, (texts.get(status) ?? new Set()).add(shown));
  }
  return [...texts].map(([status, shown]) => `${status}: ${[...shown].join('; ')}`).join('. ');
}

function decisionsOnReads(kind: ErrorKind): string {
  const usual = decisionOn('getCustomer', kind);
  const exceptions = READS.filter((operation) => decisionOn(operation, kind) !== usual);
  return [usual, ...exceptions.map((operation) => `\`${operation}\`: ${decisionOn(operation, kind)}`)].join('; ');
}

function decisionOn(operation: Operation, kind: ErrorKind): string {
  const decision = decide(operation, kind);
  switch (decision.action) {
    case 'retry':
      return `retry ${schedule(decision.schedule)}`;
    case 'wait':
      return `wait ${WAITS[decision.until]} ${schedule(decision.schedule)}`;
    case 'pause':
      return `pause \`${decision.state}\` ${schedule(decision.schedule)}`;
    case 'resend':
      return `resend ${schedule(decision.schedule)}`;
    case 'unknown':
      return 'settle';
    case 'refuse':
      return 'refuse';
  }
}

function schedule({ initialMs, factor, maxMs }: Schedule): string {
  return factor === 1 ? span(initialMs) : `${span(initialMs)}–${span(maxMs)}`;
}

function span(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000}min` : `${ms / 1_000}s`;
}
