/** What is known of one try to send a submission; the ledger keeps it, workflows and activities pass it on. */

/** What the service said to a submission, or the refusal in its place; without secrets, with every list it gave. */
export interface StoredAnswer {
  /** `accepted` for a 2xx that parses; otherwise the kind of the error. */
  kind: string;
  status?: number;
  requestId?: string | null;
  dgftAckId?: string | null;
  ackStatus?: string | null;
  recordResCount?: number | null;
  errorDetails?: unknown[];
  parsedRowCount?: number | null;
  irms?: unknown[];
  warnings?: unknown[];
  message?: string;
  errorCode?: string;
  fieldErrors?: { row?: number; field?: string; message: string }[];
}

export interface AttemptReading {
  /**
   * `sending` alone may still be on its way. `unknown`: the ledger cannot vouch for what happened, because it is not
   * the one the attempt was opened in, or the exchange is over without an answer.
   */
  verdict: 'not_sent' | 'answered' | 'sending' | 'unknown';
  reason: string | null;
  answer: StoredAnswer | null;
}
