import type { Readable } from 'node:stream';

export interface CallContext {
  /** Cancels the wait for a slot, and the call. A submission that began to be written becomes outcome_unknown. */
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
 * `beforeWrite` runs when the connection is up and nothing is written: the place to commit the `sending` mark. If it
 * throws, nothing is sent; what is no `ApiError` becomes the cause of one of kind attempt_closed.
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
  /** Under names that the specification does not show: observations on an accepted filing are among them. */
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

export interface DownloadInfo {
  contentType: string | null;
  /** Expected number of bytes, if the service announces it. */
  contentLength: number | null;
  /** From Content-Disposition. Never use it as a path. */
  fileName: string | null;
}

/** Receives a streamed body and must read it to its end. What it throws is what the call rejects with. */
export type DownloadSink<T> = (body: Readable, info: DownloadInfo) => Promise<T>;
