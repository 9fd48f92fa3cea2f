import { ERROR_KINDS, type ErrorKind } from '../../domain/service/error-kinds';
import { OPERATIONS, type Operation } from '../../domain/service/operations';
import { cutText } from '../../domain/text';
import { BadAnswerError, readText } from '../http/answers';
import { classifyAnswer, classifyTransport } from './classify';
import { cleanWords } from '../schemas/clean';
import { parseErrorBody } from './error-body';
import { ApiError, type FieldError } from './api-error';
import { safeCause, type Redactor } from './redact';
import type { TransportAnswer } from '../http/transport';
import { TransportError } from '../http/transport-error';

/** A workbook of 999 rows may be complained about in every cell; a refusal that is cut short would prove nothing. */
const MAX_ERROR_BYTES = 16 * 1024 * 1024;
const EXCERPT_BYTES = 2_000;

/**
 * The error of an answer outside 2xx. Its body is read as far as it can be; where it breaks off, the status remains.
 */
export async function refusalOf(
  answer: TransportAnswer,
  context: {
    operation: Operation;
    redact: Redactor;
    readRefusal?: (body: string, status: number) => ApiError | null;
  },
): Promise<ApiError> {
  const { operation, redact } = context;
  let text = '';
  let cause: Error | undefined;
  try {
    text = await readText(answer.body, MAX_ERROR_BYTES);
  } catch (error) {
    cause = safeCause(error, redact);
  }
  const own = context.readRefusal?.(text, answer.status);
  if (own) return own;
  const body = parseErrorBody(text, redact);
  const kind = classifyAnswer(operation, answer.status, body);
  const { wellFormed: _, message, ...details } = body;
  return new ApiError({
    ...details,
    kind,
    operation,
    status: answer.status,
    message: cutText(
      `${operation} was answered with ${answer.status}: ${message ?? ERROR_KINDS[kind]}${complaints(body.fieldErrors)}`,
    ),
    retryAfterMs: retryAfter(answer.headers['retry-after']),
    bodyExcerpt: excerpt(redact(text)),
    cause,
  });
}

/**
 * What a failed call rejects with. What the reader of a streamed body threw of its own passes through unchanged;
 * everything else is an {@link ApiError}.
 */
export function failureOf(
  error: unknown,
  context: { operation: Operation; status: number | null; written: boolean; redact: Redactor },
): Error {
  const { operation, redact } = context;
  const status = context.status ?? undefined;
  if (error instanceof ApiError) return error;
  if (error instanceof BadAnswerError) {
    const kind: ErrorKind = OPERATIONS[operation].submits ? 'outcome_unknown' : 'bad_answer';
    const bodyExcerpt = error.bodyText === undefined ? undefined : excerpt(redact(error.bodyText));
    const message = `${operation} was answered with ${status ?? 'a status'} but ${redact(error.message)}.`;
    return new ApiError({ kind, operation, status, message, bodyExcerpt });
  }
  if (error instanceof TransportError) {
    if (error.reason === 'before_write' && error.cause instanceof ApiError) return error.cause;
    // A 429 says all there is to say in its status; a body that never ends takes nothing away from it.
    const kind = status === 429 ? 'rate_limited' : classifyTransport(operation, error);
    // What the caller's own hook threw is the caller's to read; anything of the HTTP library is copied clean.
    const cause = error.reason === 'before_write' ? error.cause : safeCause(error.cause ?? error, redact);
    return new ApiError({ kind, operation, status, message: `${operation}: ${redact(error.message)}`, cause });
  }
  // What a sink threw is the caller's own. A submission has none: there a defect must not pass for "not filed".
  if (status !== undefined && !OPERATIONS[operation].submits) {
    return error instanceof Error ? error : new Error(redact(String(error)));
  }
  const kind: ErrorKind = OPERATIONS[operation].submits && context.written ? 'outcome_unknown' : 'unexpected';
  const message = `${operation} failed unexpectedly.`;
  return new ApiError({ kind, operation, status, message, cause: safeCause(error, redact) });
}

/** Up to three complaints for the message; all of them are in `fieldErrors`. */
function complaints(errors: readonly FieldError[]): string {
  if (errors.length === 0) return '';
  const shown = errors.slice(0, 3).map((error) => {
    const row = error.row === undefined ? '' : `row ${error.row} `;
    const named = error.field === undefined || error.message.includes(error.field) ? '' : `${error.field}: `;
    return `${row}${named}${error.message}`;
  });
  const more = errors.length > shown.length ? ` and ${errors.length - shown.length} more` : '';
  return ` (${shown.join('; ')}${more})`;
}

function excerpt(text: string): string | undefined {
  return text === '' ? undefined : cleanWords(text, EXCERPT_BYTES);
}

/** A proxy's Retry-After beyond this is cut: our own schedules apply. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** Retry-After in seconds or as a date. The service sends none, something in front of it may. */
function retryAfter(header: string | string[] | undefined): number | undefined {
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined || value.trim() === '') return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms >= 0 ? Math.min(Math.round(ms), MAX_RETRY_AFTER_MS) : undefined;
}
