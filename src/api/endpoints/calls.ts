import type { z } from 'zod';
import type { Operation } from '../../domain/service/operations';
import { outgoingErrors, parseAnswer, readEnvelope, readText, BadAnswerError } from '../http/answers';
import type { CallContext, Caller, CallRequest } from '../http/call';
import { ApiError } from '../errors/api-error';
import type { TransportAnswer } from '../http/transport';
import type { Readable } from 'node:stream';

/**
 * Makes a call and parses its JSON answer, without the success envelope.
 * @param emptyIs what a body without a byte stands for; left out: it is a bad answer
 */
export async function callJson<T>(
  caller: Caller,
  request: CallRequest,
  context: CallContext,
  schema: z.ZodType<T>,
  emptyIs?: null,
): Promise<T> {
  return caller.call(request, context, async ({ body }) => {
    const text = await readText(body);
    return parseAnswer(schema, emptyIs === null && text.trim() === '' ? null : readEnvelope(text));
  });
}

/** The headers and body of a JSON request. */
export function jsonBody(value: unknown): { headers: Record<string, string>; body: string } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

/** Checks an outgoing request. @throws ApiError `validation_failed`, which names fields but never values */
export function outgoing<T>(operation: Operation, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fieldErrors = outgoingErrors(result.error);
  const shown = fieldErrors.slice(0, 3).map((error) => [error.field, error.message].filter(Boolean).join(': '));
  const message = `${operation} was not sent: ${shown.join('; ')}${fieldErrors.length > 3 ? `; and ${fieldErrors.length - 3} more` : ''}`;
  throw new ApiError({ kind: 'validation_failed', operation, message, fieldErrors });
}

/**
 * Reads a streamed body to its end. The call rejects with what this throws. `bytes`: the body's length, if the service
 * announces it.
 */
export type DownloadSink<T> = (body: Readable, bytes?: number) => Promise<T>;

/** Makes a call whose answer is a file and streams it to `sink`, without holding it in memory. */
export async function download<T>(
  caller: Caller,
  request: CallRequest,
  sink: DownloadSink<T>,
  call: CallContext,
): Promise<T> {
  return caller.call({ accept: '*/*', ...request }, call, async (answer) => {
    const [contentType, length] = [header(answer, 'content-type'), header(answer, 'content-length')];
    // A proxy's error page, or JSON in place of a file, must not be stored.
    if (/json|html|xml(?!formats)|text\//iu.test(contentType)) {
      throw new BadAnswerError(`the answer is ${contentType} instead of a file`);
    }
    return sink(answer.body, /^\d+$/u.test(length) ? Number(length) : undefined);
  });
}

function header({ headers }: TransportAnswer, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** A multipart body with the one part `file`, read completely, so that a read error cannot cut off a request. */
export async function multipartBody(part: {
  file: Buffer;
  fileName: string;
  contentType: string;
}): Promise<{ headers: Record<string, string>; body: Buffer }> {
  const form = new FormData();
  form.set('file', new File([part.file], part.fileName, { type: part.contentType }));
  // Encode the body before the call, so that the request has a Content-Length.
  const encoded = new Response(form);
  return {
    headers: { 'content-type': encoded.headers.get('content-type') ?? 'multipart/form-data' },
    body: Buffer.from(await encoded.arrayBuffer()),
  };
}
