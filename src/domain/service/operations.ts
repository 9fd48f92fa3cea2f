import type { RateClass } from '../names';
import type { ErrorKind } from './error-kinds';

export interface OperationInfo {
  /** What the call does, as texts for people begin. */
  title: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** Relative to the API root; `{name}` is a path parameter. */
  path: string;
  /** The class whose budget a call takes a slot of; null where the service states no limit (extraction). */
  rateClass: RateClass | null;
  /** Whether the call files something: it may never be repeated on a guess. */
  submits: boolean;
  /**
   * Multiple of the configured HTTP time-out that one call may take. More than 1 if the service logs in to the
   * authority's portal during the call. Always 1 for a submission, because the recovery of an attempt relies on it.
   */
  timeoutFactor: number;
  /**
   * The longest answer that is read, refusals included: several times the largest normal one, and little enough for a
   * small worker. A status of 999 rows has less than 2 MB, and a refusal of all their cells 6.
   * A submission's is read longer: without its request id nobody knows what became of it.
   */
  answerBytes: number;
}

const MIB = 1024 * 1024;

/** Most calls may be repeated, and have a small answer. */
const REPEATABLE = { submits: false, timeoutFactor: 1, answerBytes: 8 * MIB } as const;
const SUBMISSION = { submits: true, timeoutFactor: 1, answerBytes: 16 * MIB } as const;

/**
 * Every call the worker makes, by name (spec: "Endpoints"). Deleting a customer, the request history and the blank
 * template are "not shown" there and are not invented here.
 */
export const OPERATIONS = {
  createCustomer: {
    ...REPEATABLE,
    title: 'Creating the client',
    method: 'POST',
    path: '/platform-customers',
    rateClass: 'api',
  },
  getCustomer: {
    ...REPEATABLE,
    title: 'Reading the client',
    method: 'GET',
    path: '/platform-customers/{id}',
    rateClass: 'api',
  },
  updateCustomer: {
    ...REPEATABLE,
    title: 'Changing the client',
    method: 'PATCH',
    path: '/platform-customers/{id}',
    rateClass: 'api',
  },
  listCustomers: {
    ...REPEATABLE,
    title: 'Listing the clients',
    method: 'GET',
    path: '/platform-customers',
    rateClass: 'api',
  },
  checkCredentials: {
    ...REPEATABLE,
    title: 'Checking the portal login',
    method: 'POST',
    path: '/platform-customers/{id}/check-dgft-credentials',
    rateClass: 'credentials',
    timeoutFactor: 2,
  },
  pushIrm: {
    ...SUBMISSION,
    title: 'Sending the rows',
    method: 'POST',
    path: '/genebrc/push-irm',
    rateClass: 'push',
  },
  bulkUpload: {
    ...SUBMISSION,
    title: 'Uploading the rows',
    method: 'POST',
    path: '/genebrc/bulk-upload',
    rateClass: 'bulk',
  },
  status: {
    ...REPEATABLE,
    title: 'Asking about the request',
    method: 'POST',
    path: '/genebrc/status',
    rateClass: 'api',
  },
  fetchDetails: {
    ...REPEATABLE,
    title: 'Reading the certificates',
    method: 'POST',
    path: '/genebrc/fetch-details',
    rateClass: 'details',
    timeoutFactor: 2,
    answerBytes: 16 * MIB,
  },
  downloadPdf: {
    ...REPEATABLE,
    title: 'Downloading the PDF',
    method: 'GET',
    path: '/genebrc/download-pdf/{eBRCNumber}',
    rateClass: 'pdf',
    timeoutFactor: 2,
    answerBytes: 64 * MIB,
  },
  listIrms: { ...REPEATABLE, title: 'Reading the IRMs', method: 'GET', path: '/irm', rateClass: 'api' },
  irmTemplate: {
    ...REPEATABLE,
    title: 'Reading the upload template',
    method: 'GET',
    path: '/irm/bulk-template',
    rateClass: 'template',
    answerBytes: 16 * MIB,
  },
  refreshIrms: {
    ...REPEATABLE,
    title: 'Refreshing the IRMs',
    method: 'POST',
    path: '/irm/refresh',
    rateClass: 'irm-refresh',
    timeoutFactor: 2,
  },
  extractShippingBill: {
    ...REPEATABLE,
    title: 'Extracting the shipping bill',
    method: 'POST',
    path: '/platform/shipping-bills/extract',
    rateClass: null,
    timeoutFactor: 2,
  },
  extractShippingBillFull: {
    ...REPEATABLE,
    title: 'Extracting the shipping bill',
    method: 'POST',
    path: '/platform/shipping-bills/extract/full',
    rateClass: null,
    timeoutFactor: 2,
  },
  extractInvoice: {
    ...REPEATABLE,
    title: 'Extracting the invoice',
    method: 'POST',
    path: '/platform/invoices/extract',
    rateClass: null,
    timeoutFactor: 2,
  },
} as const satisfies Readonly<Record<string, OperationInfo>>;

export type Operation = keyof typeof OPERATIONS;
export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

/**
 * The longest one call may take, in ms, from the start of its connection to the last byte of its answer. Waiting for
 * a budget slot is not part of it. An activity's own time-out has to be longer.
 */
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
  /** Kind of the error; null for a success. */
  kind: ErrorKind | null;
  errorCode: string | null;
  requestId: string | null;
  /** From the start of the connection to the end of the answer; the wait for a budget slot is not part of it. */
  latencyMs: number;
  attempt: number | null;
}
