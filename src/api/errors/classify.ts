import { kindOfErrorCode, type ErrorKind } from '../../domain/service/error-kinds';
import { OPERATIONS, OPERATION_NAMES, type Operation } from '../../domain/service/operations';
import { decide } from '../../domain/service/retry-table';
import type { ErrorBody } from './error-body';
import type { TransportError } from './api-error';

const CUSTOMER_ENDPOINTS: readonly Operation[] = [
  'createCustomer',
  'getCustomer',
  'updateCustomer',
  'listCustomers',
  'checkCredentials',
];

/** Matches a message that stands for an empty list. It must deny certificates: "Service not available" is no look. */
export const NOTHING_LISTED =
  /^(?!.*\b(?:connect\w*|temporar\w*|later|unreachable|time[d-]? ?out|down|busy)\b)(?:.*\bno (?:\w+ )?(?:records?|data|details?|certificates?|e-?brcs?)\b(?! (?:service|source|server))|.*\b(?:records?|data|details?|certificates?|e-?brcs?)(?: (?:is|are|was|were|do|does))? not (?:yet )?(?:found|available|exist|issued|present)\b)/isu;

/**
 * Kinds by message, for answers without a code (spec: "Customer endpoints", "Validate credentials", "Push, status,
 * fetch-details"). No other code compares messages. The first match decides, otherwise the status.
 */
const BY_MESSAGE: readonly [
  statuses: readonly number[],
  operations: readonly Operation[],
  pattern: RegExp,
  kind: ErrorKind,
][] = [
  // The address may be between the words.
  [[400, 409], CUSTOMER_ENDPOINTS, /\be-?mail\b.{0,400}\balready (exists|in use|registered|taken)/isu, 'email_taken'],
  [[400, 409], CUSTOMER_ENDPOINTS, /DGFT username already (in use|aligned)/iu, 'dgft_username_taken'],
  [[400, 409], ['checkCredentials'], /credentials are already set/iu, 'credentials_already_set'],
  [[400, 401, 409, 422], ['checkCredentials'], /invalid DGFT credentials/iu, 'credentials_rejected'],
  [[400], ['fetchDetails'], /\b(3|three)[ -]?months?\b|date (range|window)/iu, 'window_too_wide'],
  // The web framework's 404 for a wrong address, which is about neither the client nor the request.
  [[404], OPERATION_NAMES, /^Cannot (GET|POST|PATCH) /u, 'not_found'],
  // A 404 about the client must not count as one about the request, because rows of an unknown request are freed.
  [[404], ['status', 'downloadPdf', 'fetchDetails'], /\bcustomer\b/iu, 'customer_not_found'],
  // A 404 for an empty list: no certificates in the window.
  [[404], ['fetchDetails'], NOTHING_LISTED, 'certificate_not_ready'],
];

/** The kind of a well-formed 404 without a code that is not about the client. */
const NOT_FOUND: Partial<Readonly<Record<Operation, ErrorKind>>> = {
  createCustomer: 'not_found',
  listCustomers: 'not_found',
  status: 'request_not_found',
  downloadPdf: 'certificate_not_ready',
  extractShippingBill: 'not_found',
  extractShippingBillFull: 'not_found',
  extractInvoice: 'not_found',
};

/** Documented refusals of a submission; with a readable body they prove that it was not accepted. */
const DOCUMENTED_REFUSALS: readonly number[] = [400, 401, 403, 404, 409, 422];

/** The kind of an answer outside 2xx, from its error code, then its status, then (in one table) its message. */
export function classifyAnswer(operation: Operation, status: number, body: ErrorBody): ErrorKind {
  if (OPERATIONS[operation].submits) return classifySubmission(operation, status, body);
  if (status === 429) return 'rate_limited';
  return kindOfAnswer(operation, status, body);
}

/**
 * A 5xx never proves that nothing was filed, because the portal may have accepted it before. A documented refusal
 * proves it only with a readable body, as HTML, a redirect or another status may come from a proxy. 429 and 413 do.
 */
function classifySubmission(operation: Operation, status: number, body: ErrorBody): ErrorKind {
  if (status === 429) return 'rate_limited';
  if (status === 413) return 'too_large';
  if (!DOCUMENTED_REFUSALS.includes(status) || !body.wellFormed) return 'outcome_unknown';
  const kind = kindOfAnswer(operation, status, body);
  // A statement about the portal, a request or a certificate does not refuse the submission.
  return decide(operation, kind).action === 'unknown' ? 'outcome_unknown' : kind;
}

function kindOfAnswer(operation: Operation, status: number, body: ErrorBody): ErrorKind {
  const coded = kindOfErrorCode(body.errorCode);
  if (coded !== undefined) return coded;
  // Without a known code, `requiresPasswordUpdate` is as clear as one (spec: "Credential and download errors").
  if ((status === 409 || status === 422) && body.requiresPasswordUpdate === true) return 'credentials_invalid';
  const [, , , ofMessage] =
    BY_MESSAGE.find(
      ([statuses, operations, pattern]) =>
        statuses.includes(status) && operations.includes(operation) && pattern.test(body.message ?? ''),
    ) ?? [];
  if (ofMessage !== undefined) return ofMessage;
  if (status >= 500) {
    return status === 500 && operation === 'checkCredentials' ? 'credential_check_failed' : 'server_error';
  }
  switch (status) {
    case 400:
      return badRequest(operation, body);
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return body.wellFormed ? (NOT_FOUND[operation] ?? 'customer_not_found') : 'not_found';
    case 409:
      return 'conflict';
    case 413:
      return 'too_large';
    case 422:
      return body.fieldErrors.length > 0 ? 'validation_failed' : 'refused';
    default:
      return status >= 400 ? 'refused' : 'bad_answer';
  }
}

function badRequest(operation: Operation, body: ErrorBody): ErrorKind {
  if (!body.wellFormed) return 'bad_answer';
  // A refusal of the check for an undocumented reason proves nothing about the credentials.
  const isUnexplained = body.fieldErrors.length === 0 && !/validation failed/iu.test(body.message ?? '');
  if (operation === 'checkCredentials' && isUnexplained) return 'refused';
  if (operation !== 'bulkUpload') return 'validation_failed';
  // Errors of a workbook name rows, or are about the whole file; errors of the query only name fields.
  const aboutFields = body.fieldErrors.length > 0 && body.fieldErrors.every((error) => error.row === undefined);
  return aboutFields ? 'validation_failed' : 'workbook_rejected';
}

/** The kind of an exchange without a complete answer. */
export function classifyTransport(operation: Operation, error: TransportError): ErrorKind {
  if (error.reason === 'before_write') return 'attempt_closed';
  if (!error.written) return error.reason === 'cancelled' ? 'cancelled' : 'not_sent';
  if (OPERATIONS[operation].submits) return 'outcome_unknown';
  switch (error.reason) {
    case 'cancelled':
      return 'cancelled';
    case 'timeout':
      return 'timeout';
    case 'too_large':
      return 'bad_answer';
    case 'network':
      return 'connection_lost';
  }
}
