/** The outcome of a submission's exchange: the answer to store, or the failure that the workflow reads. */
import { ApiError } from '../../api/errors/api-error';
import type { SubmissionResult } from '../../api/endpoints/filings';
import type { BulkUploadAnswer, PushAnswer } from '../../api/schemas/filings';
import type { StoredAnswer } from '../../domain/filing/attempt';
import { LedgerUnavailableError } from '../../ledger/unavailable';
import { failureOf, refusal } from '../application-failure';

export function acceptedAnswer({
  parsed,
  status,
  warnings,
}: SubmissionResult<PushAnswer | BulkUploadAnswer>): StoredAnswer {
  return {
    kind: 'accepted',
    status,
    requestId: parsed.requestId,
    dgftAckId: parsed.dgftAckId,
    ackStatus: parsed.ackStatus,
    recordResCount: parsed.recordResCount,
    errorDetails: parsed.errorDetails ?? [],
    warnings,
    ...('irms' in parsed && Array.isArray(parsed.irms)
      ? { irms: parsed.irms as unknown[], parsedRowCount: parsed.parsedRowCount as number | null }
      : {}),
  };
}

/** The attempt must not be sent; nothing was written. */
export function attemptClosed({ attemptId }: { attemptId: string }, why: string): ApiError {
  return new ApiError({
    kind: 'attempt_closed',
    operation: 'pushIrm',
    message: `Attempt ${attemptId} sends nothing: ${why}.`,
  });
}

/** PostgreSQL was unavailable before the first byte, so nothing was written. */
function withoutLedger(cause: LedgerUnavailableError): ApiError {
  return new ApiError({ kind: 'ledger_unavailable', operation: 'pushIrm', message: cause.message, cause });
}

/** The kind of a failed exchange, the answer to store, and the error to throw. @param secret of the execution */
export function causeOf(thrown: unknown, secret: string): { kind: string; answer: StoredAnswer; thrown: unknown } {
  const error = thrown instanceof LedgerUnavailableError ? withoutLedger(thrown) : thrown;
  if (error instanceof ApiError) {
    const { kind, status, message, errorCode, fieldErrors } = error;
    return {
      kind,
      answer: { kind, status, message, errorCode, fieldErrors },
      thrown: failureOf(error, { retry: false }, status === undefined ? {} : { sentBy: secret }),
    };
  }
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
  const message = error instanceof Error ? error.message : String(type ?? error);
  if (typeof type === 'string') return { kind: type, answer: { kind: type, message }, thrown: error };
  // A defect may occur after the write, which only the marks can tell, so nothing is claimed here.
  return { kind: 'unexpected', answer: { kind: 'unexpected', message }, thrown: refusal('unexpected', message) };
}

/** Rethrows an error from before the first byte; if PostgreSQL went away, as a kind that means nothing was written. */
export function nothingSent(error: unknown): never {
  throw error instanceof LedgerUnavailableError ? withoutLedger(error) : error;
}
