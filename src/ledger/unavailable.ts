/** When PostgreSQL is unavailable, and which of its errors pass. */
import pg from 'pg';
import { isObject } from '../domain/values';

/** PostgreSQL cannot do this now, but may later. Required steps wait; optional ones give up. */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError';

  constructor(
    /** SQLSTATE, or a code of the system or the driver (`ECONNREFUSED`, `connection`, `timeout`). */
    readonly code: string,
    /** Whether the connection is still usable, so that only the transaction is lost. */
    readonly connectionUsable: boolean,
    cause: unknown,
  ) {
    super(`PostgreSQL cannot be used right now (${code}: ${messageOf(cause)}).`, { cause });
  }
}

/** PostgreSQL's temporary errors. Others are defects or violated constraints (22, 23, 42). */
const TEMPORARY_SQLSTATES: readonly {
  code: RegExp;
  /** Whether to keep the connection; not if the server is read-only or shutting down. */
  connectionUsable: boolean;
}[] = [
  // Connection exceptions.
  { code: /^08/u, connectionUsable: false },
  // Read-only transaction, because after a failover the connection leads to a standby.
  { code: /^25006$/u, connectionUsable: false },
  // Idle-in-transaction and transaction time-outs: the server ended the session.
  { code: /^25P0[34]$/u, connectionUsable: false },
  // Authentication, which can fail during a failover or a change of passwords.
  { code: /^28/u, connectionUsable: false },
  // Unknown prepared statement, because a pooler has switched to another server connection.
  { code: /^26000$/u, connectionUsable: false },
  // Serialisation failure, deadlock and other rollbacks; 40002 is an integrity violation.
  { code: /^40(?!002)/u, connectionUsable: true },
  // Out of memory, disk or connections.
  { code: /^53/u, connectionUsable: false },
  // Lock time-out; statement time-out or cancel.
  { code: /^(55P03|57014)$/u, connectionUsable: true },
  // Shut down, crashed, starting up, database dropped, session timed out.
  { code: /^57P/u, connectionUsable: false },
  // The server's own disk or system.
  { code: /^58/u, connectionUsable: false },
];

/** Driver messages without a code, for a connection that is lost, late or closed. */
const DRIVER_MESSAGES: readonly [message: RegExp, code: string][] = [
  [/^Query read timeout|timeout exceeded when trying to connect|due to connection timeout/iu, 'timeout'],
  [/^Connection (terminated|ended)|is not queryable|after calling end on the pool/iu, 'connection'],
];

/** Converts a temporary error into {@link LedgerUnavailableError}; returns any other unchanged. */
export function asLedgerError(error: unknown): unknown {
  if (error instanceof LedgerUnavailableError) return error;
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? '';
    // The statement's result type has changed since it was prepared; a new connection prepares it again.
    if (/cached plan must not change/u.test(error.message)) return new LedgerUnavailableError(code, false, error);
    const temporary = TEMPORARY_SQLSTATES.find((entry) => entry.code.test(code));
    return temporary ? new LedgerUnavailableError(code, temporary.connectionUsable, error) : error;
  }
  if (isSystemError(error)) return new LedgerUnavailableError(error.code, false, error);
  const message = messageOf(error);
  const driverMessage = DRIVER_MESSAGES.find(([pattern]) => pattern.test(message));
  return driverMessage ? new LedgerUnavailableError(driverMessage[1], false, error) : error;
}

/** A failed connection is always {@link LedgerUnavailableError}, because no statement is the cause. */
export function connectFailure(error: unknown): LedgerUnavailableError {
  const translated = asLedgerError(error);
  if (translated instanceof LedgerUnavailableError) return translated;
  return new LedgerUnavailableError(
    error instanceof pg.DatabaseError ? (error.code ?? '') : 'connection',
    false,
    error,
  );
}

function isSystemError(error: unknown): error is { code: string } {
  return isObject(error) && typeof error['code'] === 'string' && /^E[A-Z_0-9]+$/u.test(error['code']);
}

/** If several addresses were tried, the driver's error is a list without a message. */
function messageOf(error: unknown): string {
  if (!isObject(error)) return String(error);
  if (Array.isArray(error['errors'])) return error['errors'].map(messageOf).join('; ');
  return String(error['message']);
}
