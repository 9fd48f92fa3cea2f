/** Turns any error of a request into the problem that is answered. */
import { isGrpcStatus } from '../../temporal/grpc-status';
import type { FastifyError } from 'fastify';
import { isErrorKind } from '../../domain/service/error-kinds';
import { decide } from '../../domain/service/retry-table';
import { WorkbookRefused } from '../../workbook/read';
import { LedgerUnavailableError } from '../../ledger/unavailable';
import { RefusedError, UnreachableError, UsageError } from '../../starter/errors';
import { NoWorkerError, TemporalSilentError } from '../../temporal/workers-present';
import { NOTHING_TWICE, Problem, temporalAway, unavailable } from './problem';

/** Status of refusals that are not about the content of the request. All others are answered with 422. */
const STATUS_OF_REFUSAL: Readonly<Record<string, number>> = {
  unknown_filing: 404,
  unknown_exporter: 404,
  unknown_finding: 404,
  unknown_webhook: 404,
  unknown_event: 404,
  too_many_webhooks: 409,
  not_utf8: 400,
  not_json: 400,
  number_not_exact: 400,
  reference_taken: 409,
  filing_ended: 409,
  approve_refused: 409,
  resolve_refused: 409,
  said_already: 409,
  unauthorized: 401,
  role_missing: 403,
  maker_approves: 403,
  abandon_refused: 409,
  nothing_to_correct: 409,
  request_taken: 409,
};

const tooLarge = (detail: string) => ({ status: 413, code: 'too_large', detail });
const FORM_TOO_LARGE = tooLarge('A form has one file and 20 fields at most.');

/** Errors of Fastify and its plugins that get our own status, code and text. */
const CODES: Readonly<Record<string, { status: number; code: string; detail: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: tooLarge(
    'The body is larger than this request can be; one with a file or a message has 6 MB at most.',
  ),
  FST_REQ_FILE_TOO_LARGE: tooLarge('A file has 6 MB at most.'),
  FST_PARTS_LIMIT: FORM_TOO_LARGE,
  FST_FILES_LIMIT: FORM_TOO_LARGE,
  FST_FIELDS_LIMIT: FORM_TOO_LARGE,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'Send application/json, or multipart/form-data where a file goes with it.',
  },
};

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof RefusedError) return refusalProblem(error);
  if (error instanceof UsageError || error instanceof WorkbookRefused) {
    const { code, message } = error;
    return new Problem(error instanceof UsageError ? 400 : 422, code, message, { errors: [{ code, message }] });
  }
  if (error instanceof LedgerUnavailableError) {
    return unavailable('ledger_unavailable', `The ledger cannot be used right now. ${NOTHING_TWICE}`, { cause: error });
  }
  if (error instanceof NoWorkerError) {
    const more = { cause: error, retryAfterS: 15 };
    return unavailable('no_worker', `No worker answers right now. ${NOTHING_TWICE}`, more);
  }
  if (error instanceof UnreachableError || error instanceof TemporalSilentError || isPassingGrpc(error))
    return temporalAway(error);
  return (
    fastifyProblem(error) ??
    new Problem(500, 'unexpected', 'Something went wrong here. The request id leads to the reason in the log.', {
      cause: error,
    })
  );
}

/** The problem for data that is not a request. @param code of Node's HTTP parser */
export function unreadProblem(code?: string): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem(408, 'too_slow', 'The request did not arrive in time.');
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem(431, 'headers_too_large', 'The headers have 16 KB at most.');
  return new Problem(400, 'bad_request', 'This is no HTTP request.');
}

/** Whether the retry table has this code as a temporary failure of the filing service: the request is not at fault. */
function isTemporary(code: string): boolean {
  if (!isErrorKind(code) || code === 'unexpected') return false;
  const decision = decide('updateCustomer', code);
  if (decision.action === 'wait') return decision.until === 'rate_window';
  return decision.action === 'pause' ? decision.state === 'needs_access' : decision.action === 'retry';
}

function refusalProblem(error: RefusedError): Problem {
  const [first] = error.errors;
  if (first && isTemporary(first.code)) {
    const detail = 'The filing service cannot be used right now. Repeat the request: nothing is done twice.';
    return unavailable('service_unavailable', detail, { cause: error, retryAfterS: 60 });
  }
  const code = first?.code ?? 'refused';
  const status = STATUS_OF_REFUSAL[code] ?? 422;
  const detail = error.errors.length > 1 ? `${error.errors.length} errors: ${first?.message}` : (first?.message ?? '');
  const { filingId, state } = error.details;
  const members = { ...(filingId != null && { filingId }), ...(state != null && { state }) };
  return new Problem(status, code, detail, { errors: error.errors, members, cause: error });
}

/** Includes FAILED_PRECONDITION: Temporal refuses updates of a run whose workflow tasks time out, as under load. */
function isPassingGrpc(error: unknown): boolean {
  return isGrpcStatus(error, 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'UNAVAILABLE');
}

/** Fastify's own refusals; null if the caller did not cause the error. */
function fastifyProblem(error: unknown): Problem | null {
  const { code = '', statusCode, message } = error as Partial<FastifyError>;
  const mapped = CODES[code];
  if (mapped) return new Problem(mapped.status, mapped.code, mapped.detail, { cause: error });
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return null;
  return new Problem(statusCode, 'bad_request', message ?? '', { cause: error });
}
