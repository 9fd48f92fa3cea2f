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

function coded(statusCode: number, errorCode: string, requiresPasswordUpdate: boolean): Record<string, unknown> {
  return {
    statusCode,
    errorCode,
    requiresPasswordUpdate,
    message: `Refused with ${errorCode}`,
    causes: ['the portal said no'],
    path: '/api/v1/somewhere',
    timestamp: '2026-01-05T10:00:00.000Z',
    requestId: 'trace-1',
  };
}

function codedRow(
  errorCode: string,
  status: number,
  requiresPasswordUpdate: boolean,
  operations: readonly Operation[],
  kind: ErrorKind,
): DocumentedError {
  return {
    section: 'Credential and download errors',
    operations,
    status,
    shown: errorCode,
    body: coded(status, errorCode, requiresPasswordUpdate),
    kind,
    carries: {
      errorCode,
      requiresPasswordUpdate,
      causes: ['the portal said no'],
      path: '/api/v1/somewhere',
      timestamp: '2026-01-05T10:00:00.000Z',
      requestId: 'trace-1',
    },
  };
}

const PORTAL: Operation[] = ['pushIrm', 'bulkUpload', 'status', 'fetchDetails', 'downloadPdf', 'refreshIrms'];

export const DOCUMENTED_ERRORS: readonly DocumentedError[] = [
  ...['No API key provided', 'Invalid API key'].map((text): DocumentedError => ({
    section: 'Authentication',
    operations: SERVICE_OPERATIONS,
    status: 401,
    shown: text,
    body: message(401, text),
    kind: 'unauthorized',
  })),
  ...['Only platform users can access this resource', 'NDA and agreement not signed yet'].map(
    (text): DocumentedError => ({
      section: 'Authentication',
      operations: SERVICE_OPERATIONS,
      status: 403,
      shown: text,
      body: message(403, text),
      kind: 'forbidden',
    }),
  ),
  {
    section: 'Authentication',
    operations: ['createCustomer'],
    status: 403,
    shown: 'Master Platform Agreement not signed yet',
    body: { code: 403, message: 'Master Platform Agreement not signed yet' },
    kind: 'forbidden',
  },
  {
    section: 'Customer endpoints',
    operations: ['createCustomer'],
    status: 400,
    shown: 'Validation failed (email must be an email)',
    body: message(400, 'Validation failed', { errors: ['email must be an email'] }),
    kind: 'validation_failed',
    carries: { fieldErrors: [{ field: 'email', message: 'email must be an email' }] },
  },
  {
    section: 'Customer endpoints',
    operations: ['createCustomer'],
    status: 400,
    shown: 'Validation failed (iec must be exactly 10 alphanumeric characters)',
    body: message(400, 'Validation failed', { errors: ['iec: iec must be exactly 10 alphanumeric characters'] }),
    kind: 'validation_failed',
    carries: { fieldErrors: [{ field: 'iec', message: 'iec: iec must be exactly 10 alphanumeric characters' }] },
  },
  {
    section: 'Customer endpoints',
    operations: ['createCustomer', 'updateCustomer'],
    status: 400,
    shown: 'Validation failed (property X should not exist)',
    body: message(400, 'Validation failed', { errors: ['property mode should not exist'] }),
    kind: 'validation_failed',
    carries: { fieldErrors: [{ field: 'mode', message: 'property mode should not exist' }] },
  },
  {
    section: 'Customer endpoints',
    operations: ['createCustomer'],
    status: 400,
    shown: 'User with email already exists',
    body: message(400, 'User with email already exists'),
    kind: 'email_taken',
  },
  {
    section: 'Customer endpoints',
    operations: ['createCustomer', 'checkCredentials'],
    status: 400,
    shown: 'DGFT username already in use',
    body: message(400, 'DGFT username already in use'),
    kind: 'dgft_username_taken',
  },
  {
    section: 'Customer endpoints',
    operations: ['getCustomer'],
    status: 400,
    shown: 'Invalid platform customer ID format',
    body: message(400, 'Invalid platform customer ID format'),
    kind: 'validation_failed',
  },
  {
    section: 'Customer endpoints',
    operations: [...CUSTOMER_PATHS, 'pushIrm', 'bulkUpload', 'status', 'fetchDetails', 'downloadPdf', 'listIrms'],
    status: 404,
    shown: 'Customer not found',
    body: message(404, 'Customer not found'),
    kind: 'customer_not_found',
  },
  {
    section: 'Customer endpoints',
    operations: [...CUSTOMER_PATHS, 'pushIrm', 'bulkUpload', 'status', 'fetchDetails', 'downloadPdf', 'refreshIrms'],
    status: 404,
    shown: 'Platform customer with id X not found',
    body: message(404, 'Platform customer with id 0b0a2a52-9c0f-4d57-9f3d-0d6bb3d9a001 not found'),
    kind: 'customer_not_found',
  },
  {
    section: 'Validate credentials',
    operations: ['checkCredentials'],
    status: 400,
    shown: 'Invalid DGFT credentials',
    body: message(400, 'Invalid DGFT credentials'),
    kind: 'credentials_rejected',
  },
  {
    section: 'Validate credentials',
    operations: ['checkCredentials'],
    status: 400,
    shown: 'DGFT credentials are already set for this customer',
    body: message(400, 'DGFT credentials are already set for this customer'),
    kind: 'credentials_already_set',
  },
  {
    section: 'Validate credentials',
    operations: ['checkCredentials'],
    status: 400,
    shown: 'DGFT username already aligned with another platform customer',
    body: message(400, 'DGFT username already aligned with another platform customer'),
    kind: 'dgft_username_taken',
  },
  {
    section: 'Validate credentials',
    operations: ['checkCredentials'],
    status: 400,
    shown: 'Validation failed (dgftPassword missing or empty)',
    body: message(400, 'Validation failed', { errors: ['dgftPassword: dgftPassword should not be empty'] }),
    kind: 'validation_failed',
    carries: { fieldErrors: [{ field: 'dgftPassword', message: 'dgftPassword: dgftPassword should not be empty' }] },
  },
  {
    section: 'Validate credentials',
    operations: ['checkCredentials'],
    status: 404,
    shown: 'Platform customer not found',
    body: message(404, 'Platform customer not found'),
    kind: 'customer_not_found',
  },
  {
    section: 'Validate credentials',
    operations: ['checkCredentials'],
    status: 500,
    shown: 'Error checking DGFT credentials',
    body: message(500, 'Error checking DGFT credentials'),
    kind: 'credential_check_failed',
  },
  {
    section: 'Bulk upload',
    operations: ['bulkUpload'],
    status: 400,
    shown: 'Excel validation failed',
    body: message(400, 'Excel validation failed', {
      errors: [
        { row: 2, field: 'irmNumber', message: 'Required field irmNumber is missing' },
        { row: 3, field: 'isVostro', message: 'Invalid yesno value "Yes". Expected Y or N' },
      ],
    }),
    kind: 'workbook_rejected',
    carries: {
      fieldErrors: [
        { row: 2, field: 'irmNumber', message: 'Required field irmNumber is missing' },
        { row: 3, field: 'isVostro', message: 'Invalid yesno value "Yes". Expected Y or N' },
      ],
    },
  },
  {
    section: 'Bulk upload',
    operations: ['bulkUpload'],
    status: 400,
    shown: 'more than 999 data rows',
    body: message(400, 'The file has 1000 data rows; at most 999 are allowed'),
    kind: 'workbook_rejected',
  },
  {
    section: 'Bulk upload',
    operations: ['bulkUpload'],
    status: 400,
    shown: 'Validation failed (a wrong query value)',
    body: message(400, 'Validation failed', { errors: ['uploadType: must be 101, 102, 103 or 104'] }),
    kind: 'validation_failed',
    carries: { fieldErrors: [{ field: 'uploadType', message: 'uploadType: must be 101, 102, 103 or 104' }] },
  },
  {
    section: 'Push, status, fetch-details',
    operations: ['pushIrm'],
    status: 400,
    shown: 'Validation failed (sbCumInvoiceNumber is not a shipping bill number)',
    body: message(400, 'Validation failed', {
      errors: ['ebrcBulkGenDtos.0.sbCumInvoiceNumber: sbCumInvoiceNumber is not a shipping bill number'],
    }),
    kind: 'validation_failed',
    carries: {
      fieldErrors: [
        {
          row: 1,
          field: 'sbCumInvoiceNumber',
          message: 'ebrcBulkGenDtos.0.sbCumInvoiceNumber: sbCumInvoiceNumber is not a shipping bill number',
        },
      ],
    },
  },
  {
    section: 'Push, status, fetch-details',
    operations: ['fetchDetails'],
    status: 400,
    shown: 'the window exceeds 3 months',
    body: message(400, 'The window between eBRCIssueFromDt and eBRCIssueToDt must not exceed 3 months'),
    kind: 'window_too_wide',
  },
  {
    section: 'Push, status, fetch-details',
    operations: ['status'],
    status: 404,
    shown: 'an unknown requestId (status not shown)',
    body: message(404, 'Request not found'),
    kind: 'request_not_found',
  },
  codedRow('DGFT_CREDENTIALS_INVALID', 409, true, PORTAL, 'credentials_invalid'),
  codedRow('DGFT_ACCOUNT_LOCKED', 409, true, PORTAL, 'account_locked'),
  codedRow('DGFT_CREDENTIALS_MISSING', 422, true, PORTAL, 'credentials_missing'),
  codedRow('EBRC_NOT_FOUND', 404, false, ['downloadPdf'], 'certificate_not_ready'),
  {
    ...codedRow('DGFT_PORTAL_UNAVAILABLE', 502, false, PORTAL, 'portal_unavailable'),
    submissionKind: 'outcome_unknown',
  },
  {
    ...codedRow('DGFT_IP_ACTIVATION_PENDING', 409, false, ['refreshIrms', 'pushIrm'], 'activation_pending'),
  },
  {
    section: 'Credential and download errors',
    operations: SERVICE_OPERATIONS,
    status: 429,
    shown: 'Too many requests. Please try again later',
    body: message(429, 'Too many requests. Please try again later.'),
    kind: 'rate_limited',
  },
  {
    section: 'Not in the specification',
    operations: SERVICE_OPERATIONS.filter((operation) => operation !== 'checkCredentials'),
    status: 500,
    shown: 'any other 5xx',
    body: message(500, 'Internal server error'),
    kind: 'server_error',
    submissionKind: 'outcome_unknown',
  },
  {
    section: 'Not in the specification',
    operations: ['createCustomer'],
    status: 409,
    shown: 'User with email a@b.in already exists',
    body: message(409, 'User with email a@b.in already exists'),
    kind: 'email_taken',
  },
  {
    section: 'Not in the specification',
    operations: ['checkCredentials'],
    status: 400,
    shown: 'another message',
    body: message(400, 'The portal is being renewed'),
    kind: 'refused',
  },
  ...[409, 422].map((status): DocumentedError => ({
    section: 'Not in the specification',
    operations: PORTAL,
    status,
    shown: 'requiresPasswordUpdate: true, whatever the code',
    body: { statusCode: status, errorCode: 'SOMETHING_NEW', requiresPasswordUpdate: true },
    kind: 'credentials_invalid',
    carries: { requiresPasswordUpdate: true },
  })),
  {
    section: 'Not in the specification',
    operations: SERVICE_OPERATIONS,
    status: 409,
    shown: 'a 409 with another code',
    body: message(409, 'Conflict', { errorCode: 'SOMETHING_NEW' }),
    kind: 'conflict',
    carries: { errorCode: 'SOMETHING_NEW' },
  },
  {
    section: 'Not in the specification',
    operations: SERVICE_OPERATIONS,
    status: 404,
    shown: 'Cannot GET /api/v1/… (a wrong address)',
    body: message(404, 'Cannot GET /api/v1/nowhere'),
    kind: 'not_found',
  },
  {
    section: 'Not in the specification',
    operations: SERVICE_OPERATIONS,
    status: 405,
    shown: 'another 4xx',
    body: message(405, 'Method not allowed'),
    kind: 'refused',
    submissionKind: 'outcome_unknown',
  },
  {
    section: 'Not in the specification',
    operations: SERVICE_OPERATIONS,
    status: 413,
    shown: 'the request is too large',
    body: message(413, 'Payload too large'),
    kind: 'refused',
  },
];
