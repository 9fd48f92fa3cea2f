import { CommanderError } from 'commander';
import { ApiError } from '../../api/errors/api-error';
import { ConfigError } from '../../config/config';
import { errorAt } from '../../domain/rules/finding';
import type { ErrorKind } from '../../domain/service/error-kinds';
import type { KindWith } from '../../domain/service/retry-table';
import { LedgerUnavailableError } from '../../ledger/unavailable';
import { EncryptionError } from '../../encryption/keys';
import { EXIT, firstLine, RefusedError, UnreachableError, UsageError, type ExitCode, type Problem } from '../errors';
import { isGrpcError } from '../../temporal/grpc-status';
import { NoWorkerError, TemporalSilentError } from '../../temporal/workers-present';
import { describeProblems, nothingFiled } from './texts';
import type { Terminal } from './terminal';

const FIXABLE_BY_CALLER: Readonly<Record<KindWith<{ action: 'refuse' }>, boolean>> = {
  validation_failed: true,
  workbook_rejected: true,
  customer_not_found: true,
  email_taken: true,
  dgft_username_taken: true,
  credentials_already_set: true,
  too_large: true,
  refused: true,
  window_too_wide: false,
  not_found: false,
  conflict: false,
  attempt_closed: false,
  cancelled: false,
  extraction_unconfigured: false,
};

const UNREACHABLE_ADVICE =
  'The filing service did not answer: check EBRC_API_URL and that it can be reached from here, then try again.';

/** Advice for failed calls whose cause is not the input. */
const ADVICE: Readonly<Partial<Record<ErrorKind, string>>> = {
  not_sent: UNREACHABLE_ADVICE,
  timeout: UNREACHABLE_ADVICE,
  connection_lost: UNREACHABLE_ADVICE,
  unauthorized: 'Check EBRC_API_KEY.',
  forbidden: 'Check that the agreements are signed and that EBRC_API_KEY is a platform key.',
  not_found: 'Check EBRC_API_URL: this address is not the filing service.',
};

/** Commands that file something unless they are refused. */
const FILES: ReadonlySet<string> = new Set(['ebrc file', 'ebrc correct']);

/** Prints an error and returns the exit code. @param command the command that was run, whose help is named */
export function reportError(error: unknown, terminal: Terminal, command = 'ebrc'): ExitCode {
  const { code, errors, details } = explained(error, command);
  const json = terminal.json && !terminal.hasPrinted();
  if (json) terminal.result({ ...details, errors }, () => '');
  else {
    const refused = error instanceof RefusedError && FILES.has(command);
    const rows = new Set(errors.map(({ row }) => row ?? null));
    // Warnings of a wrong row usually disappear with its error.
    const warnings = ((details?.['warnings'] ?? []) as readonly Problem[]).filter(({ row }) => row && rows.has(row));
    terminal.note([...(refused ? [nothingFiled(errors)] : []), describeProblems([...errors, ...warnings])].join('\n'));
  }
  const annotated = details?.['annotated'];
  if (!json && typeof annotated === 'string') terminal.note(`The workbook with its errors: ${annotated}`);
  return code;
}

interface ExplainedError {
  code: ExitCode;
  errors: readonly Problem[];
  details?: Record<string, unknown>;
}

function explained(error: unknown, command: string): ExplainedError {
  if (error instanceof RefusedError) return { code: EXIT.refused, errors: error.errors, details: error.details };
  if (error instanceof UsageError) return { code: EXIT.usage, errors: [problem(error.code, error.message)] };
  if (error instanceof ConfigError) {
    const errors = error.problems.map(({ variable, problem: what }) => ({
      ...problem('configuration', `${variable} ${what}`),
      field: variable,
    }));
    return { code: EXIT.usage, errors };
  }
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, '');
    return { code: EXIT.usage, errors: [problem('usage', `${capital(message)}. \`${command} --help\` shows how.`)] };
  }
  if (error instanceof ApiError) return explainedCall(error);
  if (error instanceof UnreachableError) return unexpected('unreachable', `${error.message} Nothing was started.`);
  if (error instanceof LedgerUnavailableError) {
    const advice = command.startsWith('ebrc principals')
      ? 'It is not known whether it was done: `ebrc principals list` shows it, with the number of tokens.'
      : 'Repeat the command when it is available; that files nothing twice.';
    return unexpected('unreachable', `${error.message} ${advice}`);
  }
  if (error instanceof NoWorkerError) return unexpected('no_worker', error.message);
  if (error instanceof TemporalSilentError) return unexpected('unreachable', error.message);
  // Compared by name, because loading Temporal's client takes longer than most commands.
  if (isNamed(error, 'NamespaceNotFoundError')) {
    const { namespace } = error as Error & { namespace: string };
    const message = `Temporal has no namespace ${namespace}. Set TEMPORAL_NAMESPACE to one that it has, or create it.`;
    return unexpected('unknown_namespace', message);
  }
  if (error instanceof EncryptionError) {
    const code = error.code === 'secret_empty' ? EXIT.refused : EXIT.unexpected;
    return { code, errors: [problem(error.code, error.message)] };
  }
  if (isNamed(error, 'WorkflowFailedError')) {
    const why = deepest(error);
    if (isNamed(error.cause, 'TerminatedFailure')) {
      const message = `The workflow was terminated: ${why}. \`ebrc list --attention\` shows what waits for a person; repeating the command files nothing twice.`;
      return unexpected('workflow_terminated', message);
    }
    return unexpected('workflow_failed', `The workflow failed: ${why}.`);
  }
  // Temporal's client passes some of the server's errors on unchanged.
  if (isNamed(error, 'ServiceError') || isGrpcError(error)) {
    const message = `Temporal's connection failed, or was too slow (${deepest(error)}): it is not known whether what was asked is under way. Repeat the command; that files nothing twice.`;
    return unexpected('unreachable', message);
  }
  return unexpected('unexpected', firstLine(error));
}

function isNamed(error: unknown, name: string): error is Error {
  return error instanceof Error && error.name === name;
}

function explainedCall(error: ApiError): ExplainedError {
  if (error.kind === 'extraction_unconfigured')
    return { code: EXIT.usage, errors: [problem('configuration', error.message)] };
  const fixable: Partial<Record<ErrorKind, boolean>> = FIXABLE_BY_CALLER;
  const code = fixable[error.kind] ? EXIT.refused : EXIT.unexpected;
  const advice = ADVICE[error.kind];
  if (advice) return { code, errors: [problem(error.kind, `${error.message.replace(/\.$/, '')}. ${advice}`)] };
  const fields = error.fieldErrors.map(({ row, field, message }) => ({
    ...problem(error.kind, message),
    row: row ?? null,
    field: field ?? null,
  }));
  return { code, errors: fields.length > 0 ? fields : [problem(error.kind, error.message)] };
}

const problem = (code: string, message: string): Problem => errorAt(null, null, code, message);

const unexpected = (code: string, message: string): ExplainedError => ({
  code: EXIT.unexpected,
  errors: [problem(code, message)],
});

/** The message of the innermost cause, which says what happened. */
function deepest(error: Error): string {
  let inner: Error = error;
  for (let depth = 0; depth < 10 && inner.cause instanceof Error; depth += 1) inner = inner.cause;
  return firstLine(inner);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, '');
}
