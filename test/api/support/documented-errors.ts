import type { ErrorKind } from '../../../src/domain/service/error-kinds';
import type { Operation } from '../../../src/domain/service/operations';
import { OPERATION_NAMES, OPERATIONS } from '../../../src/domain/service/operations';

/** One row of the specification's error tables, with the kind it has to become. */
export interface DocumentedError {
  section: string;
  operations: readonly Operation[];
  status: number;
  /** As the document shows it: the message, or the code. */
  shown: string;
  body: Record<string, unknown>;
  kind: ErrorKind;
  /** Where a submission differs. */
  submissionKind?: ErrorKind;
  /** What the error has to carry. */
  carries?: Record<string, unknown>;
}

/** Every operation of the filing service; extraction is another service with another key. */
export const SERVICE_OPERATIONS = OPERATION_NAMES.filter((operation) => OPERATIONS[operation].rateClass !== null);
const CUSTOMER_PATHS: Operation[] = ['getCustomer', 'updateCustomer', 'checkCredentials'];

function message(statusCode: number, text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { statusCode, message: text, ...more };
}

/** What every coded error carries beside its code (spec: "Credential and download errors"), and what is not read. */
const BESIDE_CODE = { causes: ['the portal said no'], requestId: 'trace-1' };
const NOT_READ = { path: '/api/v1/somewhere', timestamp: '2026-01-05T10:00:00.000Z' };

/** The rows of one section; a row's body has the text that is shown, where nothing else is given. */
const section =
  (name: string) =>
  (
    operations: readonly Operation[],
    status: number,
    shown: string,
    kind: ErrorKind,
    more: Partial<DocumentedError> = {},
  ): DocumentedError => ({
    ...{ section: name, operations, status, shown, kind, body: message(status, shown) },
    ...more,
  });

const authentication = section('Authentication');
const customers = section('Customer endpoints');
const credentials = section('Validate credentials');
const bulk = section('Bulk upload');
const filing = section('Push, status, fetch-details');
const codes = section('Credential and download errors');
const others = section('Not in the specification');

/** A `Validation failed` with one text, and the field that it names. */
const invalid = (text: string, field: string, row?: number): Partial<DocumentedError> => ({
  body: message(400, 'Validation failed', { errors: [text] }),
  carries: { fieldErrors: [{ ...(row === undefined ? {} : { row }), field, message: text }] },
});
const said = (status: number, text: string): Partial<DocumentedError> => ({ body: message(status, text) });

function coded(
  errorCode: string,
  status: number,
  requiresPasswordUpdate: boolean,
  operations: readonly Operation[],
  kind: ErrorKind,
): DocumentedError {
  const carries = { errorCode, requiresPasswordUpdate, ...BESIDE_CODE };
  return codes(operations, status, errorCode, kind, {
    body: message(status, `Refused with ${errorCode}`, { ...carries, ...NOT_READ }),
    carries,
  });
}

const PORTAL: Operation[] = ['pushIrm', 'bulkUpload', 'status', 'fetchDetails', 'downloadPdf', 'refreshIrms'];
const ALL = SERVICE_OPERATIONS;
const CELLS = [
  { row: 2, field: 'irmNumber', message: 'Required field irmNumber is missing' },
  { row: 3, field: 'isVostro', message: 'Invalid yesno value "Yes". Expected Y or N' },
];
const NOT_A_SHIPPING_BILL = 'ebrcBulkGenDtos.0.sbCumInvoiceNumber: sbCumInvoiceNumber is not a shipping bill number';

export const DOCUMENTED_ERRORS: readonly DocumentedError[] = [
  authentication(ALL, 401, 'No API key provided', 'unauthorized'),
  authentication(ALL, 401, 'Invalid API key', 'unauthorized'),
  authentication(ALL, 403, 'Only platform users can access this resource', 'forbidden'),
  authentication(ALL, 403, 'NDA and agreement not signed yet', 'forbidden'),
  authentication(['createCustomer'], 403, 'Master Platform Agreement not signed yet', 'forbidden', {
    body: { code: 403, message: 'Master Platform Agreement not signed yet' },
  }),
  customers(
    ['createCustomer'],
    400,
    'Validation failed (email must be an email)',
    'validation_failed',
    invalid('email must be an email', 'email'),
  ),
  customers(
    ['createCustomer'],
    400,
    'Validation failed (iec must be exactly 10 alphanumeric characters)',
    'validation_failed',
    invalid('iec: iec must be exactly 10 alphanumeric characters', 'iec'),
  ),
  customers(
    ['createCustomer', 'updateCustomer'],
    400,
    'Validation failed (property X should not exist)',
    'validation_failed',
    invalid('property mode should not exist', 'mode'),
  ),
  customers(['createCustomer'], 400, 'User with email already exists', 'email_taken'),
  customers(['createCustomer', 'checkCredentials'], 400, 'DGFT username already in use', 'dgft_username_taken'),
  customers(['getCustomer'], 400, 'Invalid platform customer ID format', 'validation_failed'),
  customers(
    [...CUSTOMER_PATHS, 'pushIrm', 'bulkUpload', 'status', 'fetchDetails', 'downloadPdf', 'listIrms'],
    404,
    'Customer not found',
    'customer_not_found',
  ),
  customers(
    [...CUSTOMER_PATHS, ...PORTAL],
    404,
    'Platform customer with id X not found',
    'customer_not_found',
    said(404, 'Platform customer with id 0b0a2a52-9c0f-4d57-9f3d-0d6bb3d9a001 not found'),
  ),
  credentials(['checkCredentials'], 400, 'Invalid DGFT credentials', 'credentials_rejected'),
  credentials(
    ['checkCredentials'],
    400,
    'DGFT credentials are already set for this customer',
    'credentials_already_set',
  ),
  credentials(
    ['checkCredentials'],
    400,
    'DGFT username already aligned with another platform customer',
    'dgft_username_taken',
  ),
  credentials(
    ['checkCredentials'],
    400,
    'Validation failed (dgftPassword missing or empty)',
    'validation_failed',
    invalid('dgftPassword: dgftPassword should not be empty', 'dgftPassword'),
  ),
  credentials(['checkCredentials'], 404, 'Platform customer not found', 'customer_not_found'),
  credentials(['checkCredentials'], 500, 'Error checking DGFT credentials', 'credential_check_failed'),
  bulk(['bulkUpload'], 400, 'Excel validation failed', 'workbook_rejected', {
    body: message(400, 'Excel validation failed', { errors: CELLS }),
    carries: { fieldErrors: CELLS },
  }),
  bulk(
    ['bulkUpload'],
    400,
    'more than 999 data rows',
    'workbook_rejected',
    said(400, 'The file has 1000 data rows; at most 999 are allowed'),
  ),
  bulk(
    ['bulkUpload'],
    400,
    'Validation failed (a wrong query value)',
    'validation_failed',
    invalid('uploadType: must be 101, 102, 103 or 104', 'uploadType'),
  ),
  filing(
    ['pushIrm'],
    400,
    'Validation failed (sbCumInvoiceNumber is not a shipping bill number)',
    'validation_failed',
    invalid(NOT_A_SHIPPING_BILL, 'sbCumInvoiceNumber', 1),
  ),
  filing(
    ['fetchDetails'],
    400,
    'the window exceeds 3 months',
    'window_too_wide',
    said(400, 'The window between eBRCIssueFromDt and eBRCIssueToDt must not exceed 3 months'),
  ),
  filing(
    ['status'],
    404,
    'an unknown requestId (status not shown)',
    'request_not_found',
    said(404, 'Request not found'),
  ),
  coded('DGFT_CREDENTIALS_INVALID', 409, true, PORTAL, 'credentials_invalid'),
  coded('DGFT_ACCOUNT_LOCKED', 409, true, PORTAL, 'account_locked'),
  coded('DGFT_CREDENTIALS_MISSING', 422, true, PORTAL, 'credentials_missing'),
  coded('EBRC_NOT_FOUND', 404, false, ['downloadPdf'], 'certificate_not_ready'),
  {
    ...coded('DGFT_PORTAL_UNAVAILABLE', 502, false, PORTAL, 'portal_unavailable'),
    submissionKind: 'outcome_unknown',
  },
  coded('DGFT_IP_ACTIVATION_PENDING', 409, false, ['refreshIrms', 'pushIrm'], 'activation_pending'),
  codes(
    ALL,
    429,
    'Too many requests. Please try again later',
    'rate_limited',
    said(429, 'Too many requests. Please try again later.'),
  ),
  others(
    ALL.filter((operation) => operation !== 'checkCredentials'),
    500,
    'any other 5xx',
    'server_error',
    { ...said(500, 'Internal server error'), submissionKind: 'outcome_unknown' },
  ),
  others(['createCustomer'], 409, 'User with email a@b.in already exists', 'email_taken'),
  others(['checkCredentials'], 400, 'another message', 'refused', said(400, 'The portal is being renewed')),
  ...[409, 422].map((status) =>
    others(PORTAL, status, 'requiresPasswordUpdate: true, whatever the code', 'credentials_invalid', {
      body: { statusCode: status, errorCode: 'SOMETHING_NEW', requiresPasswordUpdate: true },
      carries: { requiresPasswordUpdate: true },
    }),
  ),
  others(ALL, 409, 'a 409 with another code', 'conflict', {
    body: message(409, 'Conflict', { errorCode: 'SOMETHING_NEW' }),
    carries: { errorCode: 'SOMETHING_NEW' },
  }),
  others(ALL, 404, 'Cannot GET /api/v1/… (a wrong address)', 'not_found', said(404, 'Cannot GET /api/v1/nowhere')),
  others(ALL, 405, 'another 4xx', 'refused', {
    ...said(405, 'Method not allowed'),
    submissionKind: 'outcome_unknown',
  }),
  others(ALL, 413, 'the request is too large', 'too_large', said(413, 'Payload too large')),
];
