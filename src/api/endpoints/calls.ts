import type { z } from 'zod';
import type { Operation } from '../../domain/service/operations';
import { outgoingErrors, parseAnswer, readEnvelope, readText, BadAnswerError } from '../http/answers';
import type { Caller, CallRequest } from '../http/call';
import type { CallContext, DownloadInfo, DownloadSink } from '../client-types';
import { ApiError } from '../errors/api-error';
import type { TransportAnswer } from '../http/transport';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** Makes a call whose answer is JSON in the success envelope, and parses it. */
export async function callJson<T>(
  caller: Caller,
  request: CallRequest,
  context: CallContext,
  schema: z.ZodType<T>,
): Promise<T> {
  return caller.call(request, context, async (answer) => {
    const text = await readText(answer.body);
    return parseAnswer(schema, readEnvelope(text), text);
  });
}

/** The headers and body of a JSON request. */
export function jsonBody(value: unknown): { headers: Record<string, string>; body: string } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

/** Checks an outgoing request: an invalid one is an `ApiError` validation_failed that names fields, never values. */
export function outgoing<T>(operation: Operation, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fieldErrors = outgoingErrors(result.error);
  const shown = fieldErrors.slice(0, 3).map((error) => [error.field, error.message].filter(Boolean).join(': '));
  const message = `${operation} was not sent: ${shown.join('; ')}${fieldErrors.length > 3 ? `; and ${fieldErrors.length - 3} more` : ''}`;
  throw new ApiError({ kind: 'validation_failed', operation, message, fieldErrors });
}

const EXCERPT_BYTES = 4_096;

/** Makes a call whose answer is a file, and streams it to `sink`. The file is never held completely in memory here. */
export async function download<T>(
  caller: Caller,
  request: CallRequest,
  sink: DownloadSink<T>,
  call: CallContext,
): Promise<T> {
  return caller.call({ accept: '*/*', ...request }, call, async (answer) => {
    const info = infoOf(answer);
    // A proxy's page, or JSON in place of a file, must not reach the store.
    if (info.contentType !== null && /json|html|xml(?!formats)|text\//iu.test(info.contentType)) {
      const start = await readText(answer.body, EXCERPT_BYTES);
      throw new BadAnswerError(`the answer is ${info.contentType} instead of a file`, start);
    }
    return sink(answer.body, info);
  });
}

function infoOf(answer: TransportAnswer): DownloadInfo {
  const length = header(answer, 'content-length');
  const disposition = header(answer, 'content-disposition') ?? '';
  return {
    contentType: header(answer, 'content-type'),
    contentLength: length === null || !/^\d+$/u.test(length) ? null : Number(length),
    fileName: /filename="?([^";]+)"?/iu.exec(disposition)?.[1]?.trim() ?? null,
  };
}

function header(answer: TransportAnswer, name: string): string | null {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** A multipart request with the one part `file`, read completely: a file that fails half-way cuts off no request. */
export async function multipartBody(part: {
  content: Buffer;
  fileName: string;
  contentType: string;
}): Promise<{ headers: Record<string, string>; body: Buffer }> {
  const form = new FormData();
  form.set('file', new File([part.content], part.fileName, { type: part.contentType }));
  // The platform's own encoder. The body is encoded before the call, so that the request has a length and cannot break
  // off.
  const encoded = new Response(form);
  return {
    headers: { 'content-type': encoded.headers.get('content-type') ?? 'multipart/form-data' },
    body: Buffer.from(await encoded.arrayBuffer()),
  };
}

/** Reads a file to be sent. Rejects with `ApiError` validation_failed if it is empty, too long or unreadable. */
export async function readUpload(
  operation: Operation,
  file: string | Readable | Buffer,
  maxBytes: number,
): Promise<Buffer> {
  const content = Buffer.isBuffer(file) ? file : await readAll(operation, file, maxBytes);
  if (content.length === 0) throw unsendable(operation, 'the file is empty');
  if (content.length > maxBytes) {
    throw unsendable(operation, `the file is longer than ${maxBytes} bytes; make it smaller or split it`);
  }
  return content;
}

/** An `ApiError` for a file that cannot be sent. */
export function unsendable(operation: Operation, why: string, cause?: unknown): ApiError {
  return new ApiError({
    kind: 'validation_failed',
    operation,
    message: `${operation} was not sent: ${why}`,
    fieldErrors: [{ field: 'file', message: why }],
    cause,
  });
}

async function readAll(operation: Operation, file: string | Readable, maxBytes: number): Promise<Buffer> {
  try {
    const stream = typeof file === 'string' ? (await open(file, 'r')).createReadStream() : file;
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of stream as AsyncIterable<Buffer | string>) {
      const buffer = typeof piece === 'string' ? Buffer.from(piece) : piece;
      pieces.push(buffer);
      bytes += buffer.length;
      // One byte more than allowed is enough to refuse the file; the rest of a huge file is not read.
      if (bytes > maxBytes) break;
    }
    return Buffer.concat(pieces);
  } catch (cause) {
    const why = `the file cannot be read (${cause instanceof Error ? cause.message : String(cause)})`;
    throw unsendable(operation, why, cause);
  }
}
