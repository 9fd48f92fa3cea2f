/** What the result of a send proves of its attempt: the table of docs/protocol.md. */
import type { ErrorKind } from '../service/error-kinds';
import { speaksOfDuplicate } from './evidence';
import type { Verdict } from './states';

/** The result of one send, as its own execution knows it. */
export interface SendResult {
  /** `accepted` for a 2xx that parses, else the kind of the error. */
  kind: ErrorKind | 'accepted';
  /** HTTP status; null: no answer came. */
  status: number | null;
  requestId: string | null;
  /** Every text of the answer: message, error details, field errors. */
  texts: readonly string[];
}

/** Kinds that prove, without an answer, that no byte was written. */
const NOTHING_WRITTEN: readonly SendResult['kind'][] = [
  'not_sent',
  'cancelled',
  'attempt_closed',
  'ledger_unavailable',
];

/** Documented refusals that pass: nothing was filed, and the same send may succeed later. */
const PASSES: readonly SendResult['kind'][] = [
  'rate_limited',
  'unauthorized',
  'forbidden',
  'credentials_invalid',
  'account_locked',
  'credentials_missing',
  'activation_pending',
];

/** Documented refusals of the content. */
const REFUSES: readonly SendResult['kind'][] = [
  'validation_failed',
  'workbook_rejected',
  'too_large',
  'customer_not_found',
  'not_found',
];

/**
 * The verdict of an attempt by its sender's own result. Whatever is not documented is `unknown`. So is a refusal that
 * may be the proof that it was filed: by words like "duplicate", or after an attempt that was `not_filed`.
 */
export function verdictOf(result: SendResult, afterNotFiled: boolean): Verdict {
  const { kind, status, requestId, texts } = result;
  if (kind === 'accepted') return requestId === null ? 'unknown' : 'accepted';
  if (NOTHING_WRITTEN.includes(kind) && status === null) return 'not_sent';
  if (status === null || texts.some(speaksOfDuplicate)) return 'unknown';
  if (PASSES.includes(kind)) return 'not_sent';
  return REFUSES.includes(kind) && !afterNotFiled ? 'refused' : 'unknown';
}

/** Reasons of an unknown attempt that mean an outage of the service, which opens the breaker. */
export const isOutage = (reason: string | null): boolean => reason === 'no_answer' || reason === 'server_error';
