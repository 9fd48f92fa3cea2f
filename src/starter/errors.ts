import type { z } from 'zod';
import { IN_PLAIN_WORDS, invalidInput } from '../domain/issues';
import { errorAt, type Finding } from '../domain/rules/finding';
import { isGrpcStatus } from '../temporal/grpc-status';

/** Exit codes, the same for every command. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** The input was refused; the errors are printed. */
  refused: 3,
  /** Started, but waits for a person. */
  waiting: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type Problem = Pick<Finding, 'code' | 'message'> & Partial<Finding>;

/** The request is refused, for the listed reasons, which the caller can change. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  constructor(
    readonly errors: readonly Problem[],
    /** Further properties of the printed JSON document, such as the filing concerned. */
    readonly details: Record<string, unknown> = {},
  ) {
    super(errors.map(({ message }) => message).join('\n'));
  }
}

/** A refusal with a single reason. */
export function refusal(code: string, message: string, more: Partial<Finding> = {}): RefusedError {
  return new RefusedError([{ ...errorAt(null, null, code, message), ...more }]);
}

/** Parses a workflow's input by its schema. @throws RefusedError that names every wrong field */
export function checkedInput<S extends z.ZodType>(
  schema: S,
  input: z.input<S>,
  details?: Record<string, unknown>,
): z.output<S> {
  const checked = schema.safeParse(input, IN_PLAIN_WORDS);
  if (checked.success) return checked.data;
  throw new RefusedError(invalidInput(checked.error), details);
}

/** Wrong usage or configuration; `message` says what to do instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  constructor(
    message: string,
    readonly code = 'usage',
  ) {
    super(message);
  }
}

/** The error for a file of the caller that cannot be read. */
export function unreadable(path: string, { code, message }: NodeJS.ErrnoException): UsageError {
  const reasonOfCode: Readonly<Record<string, string>> = { ENOENT: 'there is no such file', EISDIR: 'it is a folder' };
  return new UsageError(`${path}: ${reasonOfCode[code ?? ''] ?? `it cannot be read (${code ?? message})`}.`, 'no_file');
}

/** A required server does not answer. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** The message without the advice. */
  readonly found: string;
  constructor(
    readonly server: 'Temporal' | 'PostgreSQL',
    address: string,
    cause: unknown,
  ) {
    // Temporal's client says only that it could not connect; the server's answer is in `cause`.
    const reason = server === 'Temporal' && cause instanceof Error && cause.cause ? cause.cause : cause;
    const refused = isGrpcStatus(reason, 'UNAUTHENTICATED', 'PERMISSION_DENIED');
    const advice = refused ? 'It refuses this caller: check TEMPORAL_API_KEY and TEMPORAL_NAMESPACE.' : ADVICE[server];
    // gRPC's own text for a deadline describes its internals.
    const why = isGrpcStatus(reason, 'DEADLINE_EXCEEDED') ? 'it did not answer in time' : firstLine(reason);
    const found = `${server} at ${address} cannot be reached: ${why}`;
    super(`${found}. ${advice}`, { cause });
    this.found = found;
  }
}

const ADVICE = {
  Temporal: 'Start it, or set TEMPORAL_ADDRESS to where it runs (`npm run dev` starts everything on this machine).',
  PostgreSQL: 'Start it, or set DATABASE_URL to where it runs (`npm run dev` starts everything on this machine).',
};

/** The first line of an error's message; for an AggregateError, that of its first error. */
export function firstLine(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return firstLine(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const text = error.message || (error as NodeJS.ErrnoException).code || error.name;
  return text.split('\n', 1)[0]?.replace(/\.$/, '') ?? text;
}
