/** Errors as the API answers them: application/problem+json (RFC 9457). */
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import type { RefusedError } from '../../starter/errors';
import { findingsInApiTerms, inApiTerms } from './api-terms';

/** An answer that is an error. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: number,
    /** Stable, snake_case; programs branch on it. */
    readonly code: string,
    readonly detail: string,
    readonly more: {
      errors?: RefusedError['errors'];
      headers?: Readonly<Record<string, string>>;
      /** Other members of the document, such as the state of the filing. */
      members?: Readonly<Record<string, unknown>>;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: more.cause });
  }
}

/** The document of a problem. */
export function problemBody({ status, code, detail, more }: Problem, requestId: string): Record<string, unknown> {
  const findings = findingsInApiTerms(more.errors ?? []);
  const errors = findings.map(({ row = null, field = null, ...error }) => ({ ...error, row, field }));
  const title = STATUS_CODES[status] ?? 'Error';
  return {
    type: 'about:blank',
    title,
    status,
    detail: inApiTerms(detail),
    code,
    errors,
    request_id: requestId,
    ...more.members,
  };
}

/** Its schema, for the description of the API. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string().describe('what programs branch on'),
  errors: z.array(
    z.object({
      code: z.string(),
      message: z.string(),
      row: z.number().int().nullable().describe('the Excel row of a workbook, the serialNo of a message'),
      field: z.string().nullable(),
    }),
  ),
  request_id: z.string(),
});

/** There is no such thing, or the principal may not see it: the answer is the same. */
export const notFound = (code: string, what: string): Problem => new Problem(404, code, what);

/** A request that is wrong in itself. */
export function badRequest(code: string, detail: string, field?: string): Problem {
  return new Problem(400, code, detail, { errors: [{ code, message: detail, ...(field !== undefined && { field }) }] });
}

export const NOTHING_TWICE = 'Repeat the request: nothing is filed twice.';

/** The status in metrics and logs of a request whose caller did not take the answer. */
export const CALLER_GONE = 499;
/** Ends a request that nobody waits for any more. */
export const callerGone = (): Problem => new Problem(CALLER_GONE, 'caller_gone', 'The caller has gone.');

export const temporalAway = (cause: unknown): Problem =>
  unavailable('temporal_unavailable', `Temporal cannot be reached right now. ${NOTHING_TWICE}`, { cause });

/** A server that is needed is away. Nothing is half done, and repeating the request is safe. */
export function unavailable(
  code: string,
  detail: string,
  { cause, retryAfterS = 5 }: { cause?: unknown; retryAfterS?: number } = {},
): Problem {
  return new Problem(503, code, detail, { headers: { 'retry-after': String(retryAfterS) }, cause });
}
