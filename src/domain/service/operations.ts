import type { RateClass } from '../names';
import type { ErrorKind } from './error-kinds';

interface OperationInfo {
  /** The call in words, as messages begin with it. */
  title: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** Relative to the API root; `{name}` is a path parameter. */
  path: string;
  /** The rate class in whose budget the call takes a slot; null if the service states no limit (extraction). */
  rateClass: RateClass | null;
  /** Whether the call files rows, so that it must not be repeated without proof. */
  submits: boolean;
  /** Multiple of the HTTP time-out. Must be 1 for a submission, because its recovery relies on the time-out. */
  timeoutFactor: number;
  /** The most bytes of an answer. Generous for submissions, whose outcome is lost without the answer's request id. */
  answerBytes: number;
}

const MIB = 1024 * 1024;

/** An operation with the usual properties: it may be repeated and has a small answer. */
const call = (
  title: string,
  method: OperationInfo['method'],
  path: string,
  rateClass: OperationInfo['rateClass'],
  others: Partial<OperationInfo> = {},
): OperationInfo => ({
  ...{ title, method, path, rateClass, submits: false, timeoutFactor: 1, answerBytes: 8 * MIB },
  ...others,
});
const SUBMISSION = { submits: true, answerBytes: 16 * MIB };
/** The service logs in to the portal, or reads a document. */
const LONG = { timeoutFactor: 2 };

/** Every call that the worker makes (spec: "Endpoints"). */
export const OPERATIONS = {
  createCustomer: call('Creating the client', 'POST', '/platform-customers', 'api'),
  getCustomer: call('Reading the client', 'GET', '/platform-customers/{id}', 'api'),
  updateCustomer: call('Changing the client', 'PATCH', '/platform-customers/{id}', 'api'),
  listCustomers: call('Listing the clients', 'GET', '/platform-customers', 'api'),
  checkCredentials: call(
    'Checking the portal login',
    'POST',
    '/platform-customers/{id}/check-dgft-credentials',
    'credentials',
    LONG,
  ),
  pushIrm: call('Sending the rows', 'POST', '/genebrc/push-irm', 'push', SUBMISSION),
  bulkUpload: call('Uploading the rows', 'POST', '/genebrc/bulk-upload', 'bulk', SUBMISSION),
  status: call('Asking about the request', 'POST', '/genebrc/status', 'api'),
  fetchDetails: call('Reading the certificates', 'POST', '/genebrc/fetch-details', 'details', {
    ...LONG,
    answerBytes: 16 * MIB,
  }),
  downloadPdf: call('Downloading the PDF', 'GET', '/genebrc/download-pdf/{eBRCNumber}', 'pdf', {
    ...LONG,
    answerBytes: 64 * MIB,
  }),
  listIrms: call('Reading the IRMs', 'GET', '/irm', 'api'),
  irmTemplate: call('Reading the upload template', 'GET', '/irm/bulk-template', 'template', { answerBytes: 16 * MIB }),
  refreshIrms: call('Refreshing the IRMs', 'POST', '/irm/refresh', 'irm-refresh', LONG),
  extractShippingBill: call('Extracting the shipping bill', 'POST', '/platform/shipping-bills/extract', null, LONG),
  extractShippingBillFull: call(
    'Extracting the shipping bill',
    'POST',
    '/platform/shipping-bills/extract/full',
    null,
    LONG,
  ),
  extractInvoice: call('Extracting the invoice', 'POST', '/platform/invoices/extract', null, LONG),
};

export type Operation = keyof typeof OPERATIONS;
export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

/** The time-out (ms) of one call: connection to end of answer, without the wait for a budget slot. */
export function callTimeoutMs(operation: Operation, httpTimeoutMs: number): number {
  return OPERATIONS[operation].timeoutFactor * httpTimeoutMs;
}

/** A call to the service as the ledger stores it, without bodies and secrets. */
export interface ApiCall {
  /** When the call ended. */
  at: Date;
  operation: Operation;
  exporterId: string | null;
  /** HTTP status; null if no answer came. */
  status: number | null;
  kind: ErrorKind | null;
  errorCode: string | null;
  requestId: string | null;
  /** From the start of the connection to the end of the answer, without the wait for a budget slot. */
  latencyMs: number;
  attempt: number | null;
}
