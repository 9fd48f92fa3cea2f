import type { ErrorKind } from './error-kinds';
import type { Operation } from './operations';

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
