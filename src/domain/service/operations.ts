import type { RateClass } from '../names';
import type { ErrorKind } from './error-kinds';

interface OperationInfo {
  /** What the call does, as texts for people begin. */
  title: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** Relative to the API root; `{name}` is a path parameter. */
  path: string;
  /** The class whose budget a call takes a slot of; null where the service states no limit (extraction). */
  rateClass: RateClass | null;
  /** Whether the call files something: it may never be repeated on a guess. */
  submits: boolean;
  /** Of the HTTP time-out: above 1 with a portal login; always 1 for a submission: its recovery relies on it. */
  timeoutFactor: number;
  /** The longest answer that is read, in bytes. Without its request id a submission's outcome is lost. */
  answerBytes: number;
}

const MIB = 1024 * 1024;

/** Most calls may be repeated, and have a small answer. */
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

/** Every call the worker makes (spec: "Endpoints"); what is "not shown" there is not invented here. */
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

/** The longest one call may take, in ms, connection and answer included, waiting for its slot not. */
export function callTimeoutMs(operation: Operation, httpTimeoutMs: number): number {
  return OPERATIONS[operation].timeoutFactor * httpTimeoutMs;
}

/** One call to the service, as it is stored in the ledger: without bodies and secrets. */
export interface ApiCall {
  /** When the call ended. */
  at: Date;
  operation: Operation;
  exporterId: string | null;
  /** HTTP status; null where no answer came. */
  status: number | null;
  kind: ErrorKind | null;
  errorCode: string | null;
  requestId: string | null;
  /** From the start of the connection to the end of the answer; the wait for a budget slot is not part of it. */
  latencyMs: number;
  attempt: number | null;
}
