import type { FieldError } from './errors';
import type { Redactor } from './redact';

/** What could be read out of the body of an error answer (spec: "Errors"). */
export interface ErrorBody {
  /** Whether it is a JSON object with a message or a code, as every error of the service is. */
  wellFormed: boolean;
  message?: string;
  errorCode?: string;
  requestId?: string;
  requiresPasswordUpdate?: boolean;
  fieldErrors: FieldError[];
  causes?: string[];
  path?: string;
  timestamp?: string;
}

/**
 * Reads an error body: `statusCode/message`, `code/message`, the same inside an `error` object, a message that is a
 * list, and anything else (HTML of a proxy, nothing, JSON cut short), which is not well-formed. Never throws. Every text
 * of it passes through `redact`, after decoding: escapes could hide a secret from it before.
 */
export function parseErrorBody(text: string, redact: Redactor): ErrorBody {
  const body = parseObject(text, redact);
  if (body === null) return { wellFormed: false, fieldErrors: [] };
  const source = isObject(body.error) ? { ...body, ...body.error } : body;
  const messages = Array.isArray(source.message) ? source.message.map(asText) : [];
  const message = messages.length > 0 ? messages.join('; ') : (string(source.message) ?? string(source.error));
  const errorCode = string(source.errorCode) ?? codeWord(source.code);
  const fieldErrors = Array.isArray(source.errors) ? source.errors.map(parseFieldError) : messages.map(parseFieldError);
  return {
    wellFormed: message !== undefined || errorCode !== undefined,
    message,
    errorCode,
    requestId: string(source.requestId),
    requiresPasswordUpdate:
      typeof source.requiresPasswordUpdate === 'boolean' ? source.requiresPasswordUpdate : undefined,
    fieldErrors,
    causes: Array.isArray(source.causes) ? source.causes.map(asText) : undefined,
    path: string(source.path),
    timestamp: string(source.timestamp),
  };
}

/** An entry of `errors`: `field: text` for customer endpoints and push, an object with row and field for workbooks. */
function parseFieldError(entry: unknown): FieldError {
  if (isObject(entry)) {
    const row = Number(entry.row);
    return {
      ...(entry.row !== null && Number.isInteger(row) ? { row } : {}),
      ...(string(entry.field) === undefined ? {} : { field: string(entry.field) }),
      message: string(entry.message) ?? asText(entry),
    };
  }
  const message = asText(entry);
  const match =
    /^([A-Za-z_]\w*(?:\.\w+|\[\d+\])*):\s+(.+)$/su.exec(message) ??
    /^([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)\s+((?:must|should|is|cannot|has|exceeds)\b.+)$/su.exec(message) ??
    /^property\s+(\S+)\s+(should not exist.*)$/su.exec(message);
  return match?.[1] === undefined ? { message } : { field: match[1], message };
}

/** `code` may hold an error code or only the HTTP status again. */
function codeWord(value: unknown): string | undefined {
  return typeof value === 'string' && /[A-Za-z]/.test(value) ? value : undefined;
}

function parseObject(text: string, redact: Redactor): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text, (_name, part: unknown) => (typeof part === 'string' ? redact(part) : part));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function string(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
