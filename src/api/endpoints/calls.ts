import type { z } from 'zod';
import type { Operation } from '../../domain/service/operations';
import { outgoingErrors, parseAnswer, readEnvelope, readText, BadAnswerError } from '../http/answers';
import type { Caller, CallRequest } from '../http/call';
import type { CallContext, DownloadInfo, DownloadSink } from '../client-types';
import { ApiError } from '../errors/api-error';
import type { TransportAnswer } from '../http/transport';

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

/**
 * Checks an outgoing request. An invalid request is an `ApiError` of kind validation_failed with every wrong field, and
 * nothing is sent. Field errors name fields, never values.
 */
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
export function createDownload(caller: Caller) {
  return async function download<T>(request: CallRequest, sink: DownloadSink<T>, call: CallContext): Promise<T> {
    return caller.call({ accept: '*/*', ...request }, call, async (answer) => {
      const info = infoOf(answer);
      // A proxy's page, or JSON in place of a file, must not reach the store.
      if (info.contentType !== null && /json|html|xml(?!formats)|text\//iu.test(info.contentType)) {
        const start = await readText(answer.body, EXCERPT_BYTES);
        throw new BadAnswerError(`the answer is ${info.contentType} instead of a file`, start);
      }
      return sink(answer.body, info);
    });
  };
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
