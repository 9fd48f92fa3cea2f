import { ERROR_KINDS } from '../../domain/service/error-kinds';
import { OPERATIONS, type Operation } from '../../domain/service/operations';
import { cutText } from '../../domain/text';
import { BadAnswerError, readText } from '../http/answers';
import { classifyAnswer, classifyTransport } from './classify';
import { parseErrorBody, type ErrorBody } from './error-body';
import { ApiError, type FieldError, TransportError } from './api-error';
import { safeCause, type Redactor } from './redact';
import type { TransportAnswer } from '../http/transport';

/** Fits an error for every cell of 999 rows, because a truncated refusal would prove nothing. */
const MAX_ERROR_BYTES = 8 * 1024 * 1024;

/** The status at the start of a kind's description, which the message names already. */
const STATUS = /^\d{3}[^:]*: /u;

/** The error for an answer outside 2xx; if its body breaks off, only the status counts. */
export async function refusalOf(
  answer: TransportAnswer,
  context: { operation: Operation; redact: Redactor; readRefusal?: (body: string, status: number) => ApiError | null },
): Promise<ApiError> {
  const { operation, redact } = context;
  let text = '';
  let cause: Error | undefined;
  try {
    text = await readText(answer.body, MAX_ERROR_BYTES);
  } catch (error) {
    cause = safeCause(error, redact);
  }
  const refusal = context.readRefusal?.(text, answer.status);
  if (refusal) return refusal;
  const body = parseErrorBody(text, redact);
  const kind = classifyAnswer(operation, answer.status, body);
  const { wellFormed: _, message, ...details } = body;
  return new ApiError({
    ...details,
    kind,
    operation,
    status: answer.status,
    message: cutText(
      `${OPERATIONS[operation].title} was answered with ${answer.status}: ${message ?? ERROR_KINDS[kind].replace(STATUS, '')}${fieldErrorText(body.fieldErrors)}`,
    ),
    retryAfterMs: retryAfter(answer.headers['retry-after']),
    cause,
  });
}

interface FailureContext {
  operation: Operation;
  status: number | null;
  written: boolean;
  redact: Redactor;
}

/** The error of a failed call: an {@link ApiError}, or the unchanged error of the reader of a streamed body. */
export function failureOf(error: unknown, context: FailureContext): Error {
  const { operation, redact, written } = context;
  const { submits } = OPERATIONS[operation];
  if (error instanceof ApiError) return error;
  if (error instanceof BadAnswerError) return unreadableAnswer(error, context);
  if (error instanceof TransportError) return failedExchange(error, context);
  // A sink's error is the caller's. A submission has no sink, and a defect there must not be taken for "not filed".
  if (context.status !== null && !submits) return error instanceof Error ? error : new Error(redact(String(error)));
  return new ApiError({
    kind: submits && written ? 'outcome_unknown' : 'unexpected',
    operation,
    status: context.status ?? undefined,
    message: `${OPERATIONS[operation].title} failed unexpectedly.`,
    cause: safeCause(error, redact),
  });
}

/** The error for a 2xx with an unreadable body, with the words of one that is an error. */
function unreadableAnswer(error: BadAnswerError, { operation, status, redact }: FailureContext): ApiError {
  const {
    wellFormed: _,
    message = '',
    ...said
  } = error.body === undefined ? NOTHING_SAID : parseErrorBody(error.body, redact);
  const words = [message || said.errorCode, fieldErrorText(said.fieldErrors)].filter(Boolean).join('');
  return new ApiError({
    ...said,
    kind: OPERATIONS[operation].submits ? 'outcome_unknown' : 'bad_answer',
    operation,
    status: status ?? undefined,
    message: `${OPERATIONS[operation].title} was answered with ${status ?? 'a status'} but ${redact(error.message)}${words === '' ? '.' : cutText(`: ${words}`)}`,
  });
}

const NOTHING_SAID: ErrorBody = { wellFormed: false, fieldErrors: [] };

function failedExchange(error: TransportError, { operation, status, redact }: FailureContext): ApiError {
  const ofHook = error.reason === 'before_write';
  if (ofHook && error.cause instanceof ApiError) return error.cause;
  return new ApiError({
    // The status 429 is sufficient, even if the body never ends.
    kind: status === 429 ? 'rate_limited' : classifyTransport(operation, error),
    operation,
    status: status ?? undefined,
    message: `${OPERATIONS[operation].title}: ${redact(error.message)}`,
    // Keep an error of the caller's hook; copy an error of the HTTP library without secrets.
    cause: ofHook ? error.cause : safeCause(error.cause ?? error, redact),
  });
}

/** Up to three field errors for the message; all of them are in `fieldErrors`. */
function fieldErrorText(errors: readonly FieldError[]): string {
  if (errors.length === 0) return '';
  const shown = errors.slice(0, 3).map((error) => {
    const row = error.row === undefined ? '' : `row ${error.row} `;
    const named = error.field === undefined || error.message.includes(error.field) ? '' : `${error.field}: `;
    return `${row}${named}${error.message}`;
  });
  const more = errors.length > shown.length ? ` and ${errors.length - shown.length} more` : '';
  return ` (${shown.join('; ')}${more})`;
}

/** A longer Retry-After of a proxy is cut to this, because our own schedules apply. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** Milliseconds of a Retry-After in seconds or as a date. The service sends none, but a proxy may. */
function retryAfter(header: string | string[] | undefined): number | undefined {
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined || value.trim() === '') return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms >= 0 ? Math.min(Math.round(ms), MAX_RETRY_AFTER_MS) : undefined;
}
