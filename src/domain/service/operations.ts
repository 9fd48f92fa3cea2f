import type { RateClass } from '../names';

/**
 * Every call the worker makes, by name (spec: "Endpoints"). Deleting a customer, the request history and the blank
 * template are "not shown" there and are not invented here.
 */
export type Operation =
  | 'createCustomer'
  | 'getCustomer'
  | 'updateCustomer'
  | 'listCustomers'
  | 'checkCredentials'
  | 'pushIrm'
  | 'bulkUpload'
  | 'status'
  | 'fetchDetails'
  | 'downloadPdf'
  | 'listIrms'
  | 'irmTemplate'
  | 'refreshIrms'
  | 'extractShippingBill'
  | 'extractShippingBillFull'
  | 'extractInvoice';

export interface OperationInfo {
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
}

export const OPERATIONS: Readonly<Record<Operation, OperationInfo>> = {
  createCustomer: {
    method: 'POST',
    path: '/platform-customers',
    rateClass: 'api',
    submits: false,
    timeoutFactor: 1,
  },
  getCustomer: {
    method: 'GET',
    path: '/platform-customers/{id}',
    rateClass: 'api',
    submits: false,
    timeoutFactor: 1,
  },
  updateCustomer: {
    method: 'PATCH',
    path: '/platform-customers/{id}',
    rateClass: 'api',
    submits: false,
    timeoutFactor: 1,
  },
  listCustomers: { method: 'GET', path: '/platform-customers', rateClass: 'api', submits: false, timeoutFactor: 1 },
  checkCredentials: {
    method: 'POST',
    path: '/platform-customers/{id}/check-dgft-credentials',
    rateClass: 'credentials',
    submits: false,
    timeoutFactor: 2,
  },
  pushIrm: { method: 'POST', path: '/genebrc/push-irm', rateClass: 'push', submits: true, timeoutFactor: 1 },
  bulkUpload: { method: 'POST', path: '/genebrc/bulk-upload', rateClass: 'bulk', submits: true, timeoutFactor: 1 },
  status: { method: 'POST', path: '/genebrc/status', rateClass: 'api', submits: false, timeoutFactor: 1 },
  fetchDetails: {
    method: 'POST',
    path: '/genebrc/fetch-details',
    rateClass: 'details',
    submits: false,
    timeoutFactor: 2,
  },
  downloadPdf: {
    method: 'GET',
    path: '/genebrc/download-pdf/{eBRCNumber}',
    rateClass: 'pdf',
    submits: false,
    timeoutFactor: 2,
  },
  listIrms: { method: 'GET', path: '/irm', rateClass: 'api', submits: false, timeoutFactor: 1 },
  irmTemplate: { method: 'GET', path: '/irm/bulk-template', rateClass: 'template', submits: false, timeoutFactor: 1 },
  refreshIrms: { method: 'POST', path: '/irm/refresh', rateClass: 'irm-refresh', submits: false, timeoutFactor: 2 },
  extractShippingBill: {
    method: 'POST',
    path: '/platform/shipping-bills/extract',
    rateClass: null,
    submits: false,
    timeoutFactor: 2,
  },
  extractShippingBillFull: {
    method: 'POST',
    path: '/platform/shipping-bills/extract/full',
    rateClass: null,
    submits: false,
    timeoutFactor: 2,
  },
  extractInvoice: {
    method: 'POST',
    path: '/platform/invoices/extract',
    rateClass: null,
    submits: false,
    timeoutFactor: 2,
  },
};

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

/**
 * The longest one call may take, in ms, from the start of its connection to the last byte of its answer. Waiting for
 * a budget slot is not part of it. An activity's own time-out has to be longer.
 */
export function callTimeoutMs(operation: Operation, httpTimeoutMs: number): number {
  return OPERATIONS[operation].timeoutFactor * httpTimeoutMs;
}
