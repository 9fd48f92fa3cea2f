import type { ErrorKind } from '../domain/service/error-kinds';
import type { Operation } from '../domain/service/operations';

/** One call as the ledger keeps it: no bodies, no secrets. */
export interface AuditRow {
  /** When the call ended. */
  at: Date;
  operation: Operation;
  exporterId: string | null;
  /** HTTP status; null where no answer came. */
  status: number | null;
  /** Null for a call that succeeded. */
  kind: ErrorKind | null;
  errorCode: string | null;
  requestId: string | null;
  /** From the start of the connection to the end of the answer; the wait for a budget slot is not part of it. */
  latencyMs: number;
  attempt: number | null;
}

/** Keeps an audit row. A failure is logged and changes nothing for the call. */
export type Audit = (row: AuditRow) => void | Promise<void>;

/** The part of a pino logger that the client uses. */
export interface Logger {
  debug(details: object, message: string): void;
  warn(details: object, message: string): void;
}
