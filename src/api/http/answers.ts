import type { Readable } from 'node:stream';
import { isObject } from '../../domain/values';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';
import type { z } from 'zod';
import { cleanAnswer, cleanWords, parseJson, type CleanOptions } from '../schemas/clean';
import type { FieldError } from '../errors/api-error';

/** A 2xx answer that the specification does not describe. The caller turns it into an `ApiError`. */
export class BadAnswerError extends Error {
  override readonly name = 'BadAnswerError';
  /** @param body the JSON of an error that came with a status of success, whose words are kept */
  constructor(
    message: string,
    readonly body?: string,
  ) {
    super(message);
  }
}

/** Reads at most `maxBytes` of a body as text. The transport limits the body in any case. */
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

/** As {@link readEnvelope}, plus the envelope's other fields that the specification does not name (`beside`). */
export function unwrap(text: string, options?: CleanOptions): { data: unknown; beside: Record<string, unknown> } {
  let value: unknown;
  try {
    value = cleanAnswer(parseJson(text), options);
  } catch {
    throw new BadAnswerError(describeNotJson(text));
  }
  if (!isObject(value)) return { data: value, beside: {} };
  const failure = [value, value.data].find(namesFailure);
  if (failure !== undefined) {
    const what = 'the answer names the status of an error in an answer with a status of success';
    throw new BadAnswerError(what, JSON.stringify(failure));
  }
  if (typeof value.success !== 'boolean') return { data: value, beside: {} };
  if (!value.success)
    throw new BadAnswerError('the answer has success: false with a status of success', JSON.stringify(value));
  const { data, ...beside } = withoutEnvelope(value);
  if ('data' in value) return { data, beside };
  // An envelope without `data` holds the fields itself; without any field it proves nothing, not even an empty list.
  return { data: Object.keys(beside).length > 0 ? beside : undefined, beside: {} };
}

/** Parses an answer with its schema. @throws BadAnswerError */
export function parseAnswer<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, IN_PLAIN_WORDS);
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: 'wrong shape' }] = result.error.issues;
  const where = issueText({ path: path.length > 0 ? path : ['the body'], message });
  throw new BadAnswerError(`it is not as specified (${where})`);
}

/** Errors of an outgoing request, by field and without values. */
export function outgoingErrors(error: z.ZodError): FieldError[] {
  return error.issues.map((issue) => {
    const path = issue.path.map(String);
    const field =
      issue.code === 'unrecognized_keys' ? [...path, issue.keys.join(', ')].join('.') : path.join('.') || undefined;
    return { ...(field === undefined ? {} : { field }), message: issue.message };
  });
}

/** The most remarks that are kept of one answer. */
const MAX_REMARKS = 200;
/** The most bytes of one remark as JSON, if it is not a text. */
const REMARK_BYTES = 8_192;

/**
 * Non-empty lists, records and texts under names outside `known`, because the spec does not name the observations on a
 * filing. Leaves out a lone identifier, or a record without words.
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

/** Whether a text has words: not empty, and not a single token with a digit, such as a trace id or a time. */
function isWorded(text: string): boolean {
  const words = text.trim();
  return words !== '' && (/\s/u.test(words) || !/\d/u.test(words));
}

/** Cuts a list to `length` entries; the last one then says how many were left out. */
export function cutList(list: unknown[], length: number): unknown[] {
  if (list.length <= length) return list;
  return [...list.slice(0, length - 1), `(${list.length - length + 1} more are left out)`];
}

/** The value, or the start of its JSON if that is long. */
export function bounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const json = JSON.stringify(value);
  return json.length <= REMARK_BYTES ? value : cleanWords(json);
}

/** Whether a body is an error by its `statusCode` (spec: "Errors"), which an outage may send with a 2xx. */
const namesFailure = (value: unknown): boolean => isObject(value) && Number(value.statusCode) >= 400;

// `path` is a field of error bodies; in an envelope it is no observation.
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
