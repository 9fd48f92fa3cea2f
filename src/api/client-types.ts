import type { Readable } from 'node:stream';
import type { PushMessage } from '../domain/filing/mapping';
import type {
  CreateCustomerBody,
  CredentialsBody,
  Customer,
  UpdateCustomerBody,
  Irm,
  ListIrmsQuery,
} from './schemas/exporters';
import type {
  BulkUploadAnswer,
  CertificateDetail,
  FetchDetailsBody,
  PushAnswer,
  RequestStatus,
  StatusBody,
} from './schemas/filings';

/** Options of one call. */
export interface CallContext {
  /**
   * Cancels the wait for a slot, and the call. A submission whose first byte has been written becomes outcome_unknown.
   */
  signal?: AbortSignal;
  /** For the audit and for fairness; never sent. */
  exporterId?: string;
  /** The caller's attempt number, for the audit. */
  attempt?: number;
  /** Called repeatedly with the number of callers ahead while the call waits for its slot. */
  onWaiting?: (position: number) => void;
  /** Called when the call has its slot and begins; it ends within `withinMs`. */
  onStarted?: (withinMs: number) => void;
}

/**
 * A submission's context. `beforeWrite` runs when the connection is up (TLS included) and nothing is written: the place
 * to commit the `sending` mark. If it throws, the connection is destroyed and nothing is sent; an `ApiError` comes out
 * as it is, anything else as the cause of an `ApiError` of kind attempt_closed.
 */
export interface SubmitContext extends CallContext {
  beforeWrite: () => Promise<void>;
}

/** The answer to a submission: parsed, and verbatim for the ledger. */
export interface SubmissionResult<T> {
  parsed: T;
  /** The raw body, for evidence. */
  raw: string;
  status: number;
  /**
   * Every list or text of the answer under a name that the specification does not show; the non-fatal observations
   * about an accepted filing are among them. Without empty lists and texts.
   */
  warnings: unknown[];
}

export interface BulkUploadInput {
  platformCustomerId: string;
  uploadType: '101' | '102' | '103' | '104';
  decalarationFlag: 'Y' | 'N';
  /** Path of the workbook, or its content. It is read completely before anything is sent: it has at most 5 MB. */
  file: string | Readable | Buffer;
  /** Ends in .xlsx or .xls. */
  fileName: string;
}

/** What is known about a file before its body is read. */
export interface DownloadInfo {
  contentType: string | null;
  /** Expected number of bytes, if the service announces it. */
  contentLength: number | null;
  /** From Content-Disposition. Never use it as a path. */
  fileName: string | null;
}

/**
 * Receives a streamed body and must read it to its end. The call rejects with what the sink throws, unless the body
 * itself broke off, which is an `ApiError`.
 */
export type DownloadSink<T> = (body: Readable, info: DownloadInfo) => Promise<T>;

/** The certificates of a window. */
interface FetchedDetails {
  certificates: CertificateDetail[];
  /** Number of list entries that could not be read; each of them may be any certificate. */
  unread: number;
}

/**
 * The filing service, one method per endpoint, one attempt per call. Every method rejects with `ApiError`, and with
 * nothing else except what a caller's own sink throws. Lists page through all pages; each page is a call of its own.
 */
export interface FilingApi {
  /** POST /platform-customers. `type` is filled in. */
  createCustomer(body: CreateCustomerBody, call?: CallContext): Promise<Customer>;
  /** GET /platform-customers/{id}: without `mode`. */
  getCustomer(id: string, call?: CallContext): Promise<Customer>;
  /** PATCH /platform-customers/{id}: only sent fields change. */
  updateCustomer(id: string, patch: UpdateCustomerBody, call?: CallContext): Promise<Customer>;
  /** GET /platform-customers, all pages: without `mode` and `dgftApiStatus`. `limit` is the page size (100). */
  listCustomers(query?: { search?: string; limit?: number }, call?: CallContext): AsyncIterable<Customer>;
  /** POST /platform-customers/{id}/check-dgft-credentials: a real portal login, so it may take long. */
  checkCredentials(id: string, credentials: CredentialsBody, call?: CallContext): Promise<Customer>;
  /** POST /genebrc/push-irm, on a connection of its own. Never repeat it on a guess. */
  pushIrm(message: PushMessage, call: SubmitContext): Promise<SubmissionResult<PushAnswer>>;
  /** POST /genebrc/bulk-upload, on a connection of its own. Never repeat it on a guess. */
  bulkUpload(input: BulkUploadInput, call: SubmitContext): Promise<SubmissionResult<BulkUploadAnswer>>;
  /** POST /genebrc/status. */
  status(query: StatusBody, call?: CallContext): Promise<RequestStatus>;
  /** POST /genebrc/fetch-details: a window of at most three months. */
  fetchDetails(query: FetchDetailsBody, call?: CallContext): Promise<FetchedDetails>;
  /** GET /genebrc/download-pdf/{eBRCNumber}, streamed to `sink`. */
  downloadPdf<T>(
    certificate: { eBRCNumber: string; platformCustomerId: string },
    sink: DownloadSink<T>,
    call?: CallContext,
  ): Promise<T>;
  /** GET /irm, all pages of the saved records. */
  listIrms(query: ListIrmsQuery, call?: CallContext): AsyncIterable<Irm>;
  /** GET /irm/bulk-template, streamed to `sink`. */
  irmTemplate<T>(platformCustomerId: string, sink: DownloadSink<T>, call?: CallContext): Promise<T>;
  /** POST /irm/refresh with `{platformCustomerId}`; accepts any 2xx and returns its body as it was read. */
  refreshIrms(platformCustomerId: string, call?: CallContext): Promise<unknown>;
  /** Closes kept-alive connections and waits for the bookkeeping (budget, audit) of the calls that have ended. */
  close(): Promise<void>;
}
