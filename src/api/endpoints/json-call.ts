import type { z } from 'zod';
import type { Operation } from '../../domain/service/operations';
import { outgoingErrors, parseAnswer, readEnvelope, readText } from '../http/answers';
import type { Caller, CallRequest } from '../http/call';
import type { CallContext } from '../client-types';
import { ApiError } from '../errors/api-error';

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
