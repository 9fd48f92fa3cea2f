import type { ApiCall } from '../domain/service/api-call';

/** Stores a call. A failure is logged and does not affect the call. */
export type Audit = (call: ApiCall) => void | Promise<void>;

/** The part of a pino logger that the client uses. */
export interface Logger {
  debug(details: object, message: string): void;
  warn(details: object, message: string): void;
}
