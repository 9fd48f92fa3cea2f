import type { Readable } from 'node:stream';
import { isObject } from '../../domain/values';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';
import type { z } from 'zod';
import { cleanAnswer, cleanWords, parseJson, type CleanOptions } from '../schemas/clean';
import type { FieldError } from '../errors/api-error';

/** A 2xx answer that is not what the specification describes. The call turns it into an `ApiError`. */
export class BadAnswerError extends Error {
  override readonly name = 'BadAnswerError';
}

/** Reads a body as text, at most `maxBytes` of it; the rest is left unread. The transport bounds it in any case. */
export async function readText(body: Readable, maxBytes = Infinity): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(pieces).subarray(0, maxBytes).toString('utf8');
}

/** Parses and cleans a JSON answer and unwraps the success envelope, if it has one. */
export function readEnvelope(text: string, options?: CleanOptions): unknown {
  return unwrap(text, options).data;
}

/** As {@link readEnvelope}, with what the envelope has besides `data` that the specification does not name. */
export function unwrap(text: string, options?: CleanOptions): { data: unknown; beside: Record<string, unknown> } {
  let value: unknown;
  try {
    value = cleanAnswer(parseJson(text), options);
  } catch {
    throw new BadAnswerError(describeNotJson(text));
  }
  if (!isObject(value)) return { data: value, beside: {} };
  if ([value, value.data].some(namesFailure))
    throw new BadAnswerError('the answer names the status of an error in an answer with a status of success');
  if (typeof value.success !== 'boolean') return { data: value, beside: {} };
  if (!value.success) throw new BadAnswerError('the answer has success: false with a status of success');
  const { data, ...beside } = withoutEnvelope(value);
  if ('data' in value) return { data, beside };
  // An envelope without `data` contains its fields directly; one without any says nothing, not even "nothing found".
  return { data: Object.keys(beside).length > 0 ? beside : undefined, beside: {} };
}

/** Parses `value` with a schema for the service's answers. */
export function parseAnswer<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, IN_PLAIN_WORDS);
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: 'wrong shape' }] = result.error.issues;
  const where = issueText({ path: path.length > 0 ? path : ['the body'], message });
  throw new BadAnswerError(`it is not as specified (${where})`);
}

/** Errors in an outgoing request, by field. They never contain values. */
export function outgoingErrors(error: z.ZodError): FieldError[] {
  return error.issues.map((issue) => {
    const path = issue.path.map(String);
    const field =
      issue.code === 'unrecognized_keys' ? [...path, issue.keys.join(', ')].join('.') : path.join('.') || undefined;
    return { ...(field === undefined ? {} : { field }), message: issue.message };
  });
}

/** Most remarks that are kept of one answer. */
const MAX_REMARKS = 200;
/** One remark that is not a text, as JSON. */
const REMARK_BYTES = 8_192;

/**
 * Non-empty lists, records and texts outside the `known` names: observations on a filing have an unknown name. A lone
 * identifier, or a record without words, says nothing about the filing.
 */
export function unknownRemarks(answer: unknown, known: readonly string[]): unknown[] {
  if (!isObject(answer)) return [];
  const remarks = Object.entries(answer)
    .filter(([name]) => !known.includes(name))
    .flatMap(([, value]): unknown[] => {
      if (Array.isArray(value)) return (value as unknown[]).filter((entry) => entry !== null && entry !== '');
      const worded = (isObject(value) ? Object.values(value) : [value]).some((part) =>
        typeof part === 'object' ? part !== null : typeof part === 'string' && isWorded(part),
      );
      return worded ? [value] : [];
    });
  return cutList(remarks, MAX_REMARKS).map(bounded);
}

/** Not empty, nor one word with a digit in it, as a trace id or a time is. */
function isWorded(text: string): boolean {
  const words = text.trim();
  return words !== '' && (/\s/u.test(words) || !/\d/u.test(words));
}

/** At most `length` entries of a list; the last one says how many were left out. */
export function cutList(list: unknown[], length: number): unknown[] {
  if (list.length <= length) return list;
  return [...list.slice(0, length - 1), `(${list.length - length + 1} more are left out)`];
}

/** A value as it is, or the start of its JSON where that is long. */
export function bounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const json = JSON.stringify(value);
  return json.length <= REMARK_BYTES ? value : cleanWords(json);
}

/** Whether it is the body of an error (spec: "Errors"), by its status; an outage may send it as a success. */
const namesFailure = (value: unknown): boolean => isObject(value) && Number(value.statusCode) >= 400;

// Error bodies name their `path`; an envelope that does so as well observes nothing by it.
const ENVELOPE = ['success', 'statusCode', 'timestamp', 'path'];

function withoutEnvelope(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !ENVELOPE.includes(name)));
}

function describeNotJson(text: string): string {
  const start = text.trimStart();
  if (start === '') return 'the answer is empty';
  if (start.startsWith('<')) return 'the answer is HTML, which comes from something between here and the service';
  return 'the answer is not JSON, or was cut short';
}
