import { cutList } from '../http/answers';
import { plainText } from '../../domain/text';
import { isObject } from '../../domain/values';
import { cleanWords, filledText, readJson, wholeNumber } from '../schemas/clean';
import { BULK_COLUMNS } from '../../domain/rules/columns';
import { MAX_FILING_ROWS } from '../../domain/service/limits';
import type { ErrorAnswer, FieldError } from './api-error';
import type { Redactor } from './redact';

/** The readable content of an error answer's body (spec: "Errors"). */
export interface ErrorBody extends ErrorAnswer {
  /** Whether it is a JSON object with a message, a code or `requiresPasswordUpdate`, as every error of the service. */
  wellFormed: boolean;
  message?: string;
}

/**
 * Reads an error body, plain or inside `error`; anything else (HTML, empty, truncated) is not well-formed. Never
 * throws. Texts are redacted after decoding, because JSON escapes could hide a secret.
 */
export function parseErrorBody(text: string, redact: Redactor): ErrorBody {
  const body = readJson(text, { redact });
  if (!isObject(body)) return { wellFormed: false, fieldErrors: [] };
  const source = isObject(body.error) ? { ...body, ...body.error } : body;
  const messages = Array.isArray(source.message) ? cutList(source.message, MAX_ERRORS).map(asText) : [];
  const message =
    messages.length > 0 ? cleanWords(messages.join('; ')) : (filledText(source.message) ?? filledText(source.error));
  const errorCode = filledText(source.errorCode) ?? codeWord(source.code);
  const errors = errorList(source.errors) ?? messages;
  const requiresPasswordUpdate = truth(source.requiresPasswordUpdate);
  return {
    wellFormed: message !== undefined || errorCode !== undefined || requiresPasswordUpdate === true,
    message,
    errorCode,
    requestId: filledText(source.requestId),
    requiresPasswordUpdate,
    fieldErrors: cutList(errors, MAX_ERRORS).map(parseFieldError),
    causes: Array.isArray(source.causes) ? cutList(source.causes, MAX_CAUSES).map(asText) : undefined,
  };
}

/** One error for every cell of the largest workbook, and some about the whole file. */
const MAX_ERRORS = MAX_FILING_ROWS * BULK_COLUMNS.length + 100;
const MAX_CAUSES = 20;

/** `errors` as a list. A single text or record becomes a list of one, a record of lists one error per text. */
function errorList(errors: unknown): unknown[] | null {
  if (Array.isArray(errors)) return (errors as unknown[]).filter((entry) => entry !== null && entry !== '');
  if (typeof errors === 'string') return errors.trim() === '' ? null : [errors];
  if (!isObject(errors) || Object.keys(errors).length === 0) return null;
  if ('message' in errors || 'field' in errors) return [errors];
  return Object.entries(errors).flatMap(([field, messages]) =>
    (Array.isArray(messages) ? (messages as unknown[]) : [messages]).map((entry) => ({
      field,
      message: asText(entry),
    })),
  );
}

/** Parses `field: text`, or an object with row and field. For a push the spec shows neither: index or serialNo. */
function parseFieldError(entry: unknown): FieldError {
  if (isObject(entry)) {
    const [row, index, serialNo] = [entry.row, entry.index, entry.serialNo].map(wholeNumber);
    return {
      ...(row === undefined ? {} : { row }),
      ...(index === undefined ? {} : { index }),
      ...(serialNo === undefined ? {} : { serialNo }),
      ...(filledText(entry.field) === undefined ? {} : { field: filledText(entry.field) }),
      message: filledText(entry.message) ?? asText(entry.message ?? entry),
    };
  }
  const message = asText(entry);
  const match =
    /^([A-Za-z_]\w*(?:\.\w+|\[\d+\])*):\s+(\S.*)$/su.exec(message) ??
    /^([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)\s+((?:must|should|is|cannot|has|exceeds)\b.+)$/su.exec(message) ??
    /^property\s+(\S+)\s+(should not exist.*)$/su.exec(message);
  return match?.[1] === undefined ? { message } : { field: match[1], message };
}

/** The error code in `code`, which may also repeat the HTTP status. */
function codeWord(value: unknown): string | undefined {
  return typeof value === 'string' && /[A-Za-z]/.test(value) ? value : undefined;
}

/** Any value as cut text. */
const asText = (value: unknown): string => (typeof value === 'string' ? value : cleanWords(plainText(value)));

function truth(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : undefined;
}
