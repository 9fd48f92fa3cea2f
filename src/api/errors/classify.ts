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

/** In place of an empty list. It has to deny certificates: "Service not available" would else count as a look. */
export const NOTHING_LISTED =
  /^(?!.*\b(?:connect\w*|temporar\w*|later|unreachable|time[d-]? ?out|down|busy)\b)(?:.*\bno (?:\w+ )?(?:records?|data|details?|certificates?|e-?brcs?)\b(?! (?:service|source|server))|.*\b(?:records?|data|details?|certificates?|e-?brcs?)(?: (?:is|are|was|were|do|does))? not (?:yet )?(?:found|available|exist|issued|present)\b)/isu;

/**
 * The only place that compares messages, of answers without a code (spec: "Customer endpoints", "Validate credentials",
 * "Push, status, fetch-details"). The first match decides, else the status alone.
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
  // The web framework's own 404: a wrong address. It concerns neither the client nor the request.
  [[404], OPERATION_NAMES, /^Cannot (GET|POST|PATCH) /u, 'not_found'],
  // A 404 about the client must not be mistaken for one about the request, because the rows of an unknown request are
  // freed.
  [[404], ['status', 'downloadPdf', 'fetchDetails'], /\bcustomer\b/iu, 'customer_not_found'],
  // A 404 for an empty list: no certificate was issued in the window.
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

/** Refusals documented for a submission: with a readable body they prove that it was not taken. */
const DOCUMENTED_REFUSALS: readonly number[] = [400, 401, 403, 404, 409, 422];

/** The kind of an answer outside 2xx, from its error code, then its status, then (in one table) its message. */
export function classifyAnswer(operation: Operation, status: number, body: ErrorBody): ErrorKind {
  if (OPERATIONS[operation].submits) return classifySubmission(operation, status, body);
  if (status === 429) return 'rate_limited';
  return kindOfAnswer(operation, status, body);
}

/**
 * A 5xx never proves that nothing was filed: the portal may have accepted it before. A refusal proves it only if it can
 * be read: HTML, a redirect or an undocumented status may come from between. 429 and 413 do prove it.
 */
function classifySubmission(operation: Operation, status: number, body: ErrorBody): ErrorKind {
  if (status === 429) return 'rate_limited';
  if (status === 413) return 'too_large';
  if (!DOCUMENTED_REFUSALS.includes(status) || !body.wellFormed) return 'outcome_unknown';
  const kind = kindOfAnswer(operation, status, body);
  // What is said of the portal, of a request or of a certificate is no refusal of what was submitted.
  return decide(operation, kind).action === 'unknown' ? 'outcome_unknown' : kind;
}

function kindOfAnswer(operation: Operation, status: number, body: ErrorBody): ErrorKind {
  const coded = kindOfErrorCode(body.errorCode);
  if (coded !== undefined) return coded;
  // For a new code, or none, `requiresPasswordUpdate` is as clear as a code (spec: "Credential and download errors").
  if ((status === 409 || status === 422) && body.requiresPasswordUpdate === true) return 'credentials_invalid';
  const [, , , worded] =
    BY_MESSAGE.find(
      ([statuses, operations, pattern]) =>
        statuses.includes(status) && operations.includes(operation) && pattern.test(body.message ?? ''),
    ) ?? [];
  if (worded !== undefined) return worded;
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
  // A check that is refused for an undocumented reason proves nothing about the credentials.
  const isUnexplained = body.fieldErrors.length === 0 && !/validation failed/iu.test(body.message ?? '');
  if (operation === 'checkCredentials' && isUnexplained) return 'refused';
  if (operation !== 'bulkUpload') return 'validation_failed';
  // Errors of a workbook are about rows or the whole file (more than 999 rows); errors of the query only name fields.
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
