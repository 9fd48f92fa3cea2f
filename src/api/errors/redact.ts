import { isNativeError } from 'node:util/types';

const REDACTED = '[redacted]';

/** Shorter "secrets" would redact ordinary text; real keys and passwords are longer. */
const MIN_SECRET_LENGTH = 4;

/** Removes secrets from a text, including their JSON-escaped and URL-encoded forms. */
export type Redactor = (text: string) => string;

/** A redactor for the given secrets; empty and undefined ones are skipped. */
export function createRedactor(secrets: readonly (string | undefined)[]): Redactor {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret === undefined || secret.length < MIN_SECRET_LENGTH) continue;
    // JSON inside JSON occurs in a proxy's error that quotes the body it could not deliver.
    const escaped = escapeJson(secret);
    for (const form of [secret, escaped, escapeJson(escaped), escapeUri(secret)]) forms.add(form);
  }
  // Longest first, because the escaped form of a secret may contain the plain one.
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((result, form) => result.replaceAll(form, REDACTED), text);
}

function escapeUri(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    // encodeURIComponent throws at an unpaired surrogate.
    return text;
  }
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const KEPT = ['code', 'errno', 'syscall', 'hostname', 'address', 'port', 'reason', 'library'] as const;

/** A redacted copy of an HTTP library's error, without its bodies, headers and sockets. */
export function safeCause(error: unknown, redact: Redactor, depth = 0): Error {
  if (!isError(error)) return new Error(redact(describe(error)));
  const inner = innerError(error);
  const copy = new Error(
    redact(error.message),
    inner === undefined || inner === null || depth >= 4 ? undefined : { cause: safeCause(inner, redact, depth + 1) },
  );
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = redact(error.stack);
  const properties = error as unknown as Record<string, unknown>;
  for (const name of KEPT) {
    const value = properties[name];
    if (typeof value === 'number') Object.assign(copy, { [name]: value });
    if (typeof value === 'string') Object.assign(copy, { [name]: redact(value) });
  }
  return copy;
}

/** Also true for errors of another realm (a vm context), for which `instanceof` is false. */
function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}

/** The cause of an error; of several (one per address of a host), the first. */
function innerError(error: Error): unknown {
  if (error.cause !== undefined) return error.cause;
  return 'errors' in error && Array.isArray(error.errors) ? (error.errors as unknown[])[0] : undefined;
}

function describe(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}

/** The code of a system or library error (`ECONNREFUSED`, `UND_ERR_SOCKET`), searched through its causes. */
export function codeOf(error: unknown): string | null {
  let current = error;
  for (let depth = 0; depth < 5 && isError(current); depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string') return code;
    current = innerError(current);
  }
  return null;
}
