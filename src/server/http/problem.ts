/** Errors of the API, answered as application/problem+json (RFC 9457). */
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { firstErrors } from '../../domain/rules/finding';
import { cutText } from '../../domain/text';
import type { RefusedError } from '../../starter/errors';

/** An error answer. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: number,
    /** Stable and in snake_case; clients branch on it. */
    readonly code: string,
    readonly detail: string,
    readonly more: {
      errors?: RefusedError['errors'];
      headers?: Readonly<Record<string, string>>;
      /** Further members of the document, such as the filing's state. */
      members?: Readonly<Record<string, unknown>>;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: more.cause });
  }
}

/** The JSON document of a problem. */
export function problemBody({ status, code, detail, more }: Problem, requestId: string): Record<string, unknown> {
  const errors = findingsInApiTerms(more.errors ?? []).map(({ row = null, field = null, ...error }) => ({
    ...error,
    row,
    field,
  }));
  const title = STATUS_CODES[status] ?? 'Error';
  return {
    type: 'about:blank',
    title,
    status,
    detail: inApiTerms(cutText(detail)),
    code,
    errors,
    request_id: requestId,
    ...more.members,
  };
}

/** The schema of a problem, for the OpenAPI description. */
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
      count: z.number().int().optional().describe('of the last entry, more_errors: how many are not listed'),
    }),
  ),
  request_id: z.string(),
  filingId: z.string().optional().describe('the filing concerned'),
  state: z.string().optional().describe('its state'),
  missing: z.array(z.string()).optional().describe('of role_missing: the roles of which one is needed'),
  start: z.string().optional().describe('of cursor_gone: reads all events that are kept'),
  end: z.string().optional().describe('of cursor_gone: goes on from now'),
});

/** The same answer whether the thing does not exist or the principal may not see it. */
export const notFound = (code: string, what: string): Problem => new Problem(404, code, what);

/** A request that is invalid in itself. */
export function badRequest(code: string, detail: string, field?: string): Problem {
  return new Problem(400, code, detail, { errors: [{ code, message: detail, ...(field !== undefined && { field }) }] });
}

export const NOTHING_TWICE = 'Repeat the request: nothing is filed twice.';

/** Status in metrics and logs when the caller did not take the answer. */
export const CALLER_GONE = 499;
/** Ends a request whose caller has disconnected. */
export const callerGone = (): Problem => new Problem(CALLER_GONE, 'caller_gone', 'The caller has gone.');

export const temporalAway = (cause: unknown): Problem =>
  unavailable('temporal_unavailable', `Temporal cannot be reached right now. ${NOTHING_TWICE}`, { cause });

/** @param forMs how long to wait before the next request */
export function tooManyRequests(detail: string, forMs: number): Problem {
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(forMs / 1_000))) };
  return new Problem(429, 'too_many_requests', detail, { headers });
}

/** A server that is needed does not answer. Nothing is half done, so the request may be repeated. */
export function unavailable(
  code: string,
  detail: string,
  { cause, retryAfterS = 5 }: { cause?: unknown; retryAfterS?: number } = {},
): Problem {
  return new Problem(503, code, detail, { headers: { 'retry-after': String(retryAfterS) }, cause });
}

// Messages name commands and options of the command line. The tables turn these into routes and fields of the API.

/** Commands, with the options that follow the name of their subject. */
const ROUTES: readonly [command: RegExp, route: string][] = [
  [/`?ebrc (approve|resolve|abandon|resume|correct) (F[0-9A-F]{15}|FILING)\b(?: FILE\b)?`?/g, 'POST /v1/filings/$2/$1'],
  [/`?ebrc (approve|resolve|abandon|resume|correct)\b`?/g, 'POST /v1/filings/{filing}/$1'],
  [/`?ebrc show (F[0-9A-F]{15}|FILING)\b`?/g, 'GET /v1/filings/$1'],
  [/(?<=evidence in )`ebrc show`/g, 'GET /v1/filings/{filing}/evidence'],
  [/`ebrc show`/g, 'GET /v1/filings/{filing}'],
  [
    /`?ebrc credentials ([\w@.+-]+\b)(?: --username (?:…|USER))?(?: --password-stdin)?`?/g,
    'PUT /v1/exporters/$1/credentials',
  ],
  [/`ebrc credentials`/g, 'PUT /v1/exporters/{exporter}/credentials'],
  [/`?ebrc irms ([\w@.-]+\b)(?: --refresh)?`?/g, 'GET /v1/exporters/$1/irms'],
  [/`ebrc exporters`/g, 'GET /v1/exporters'],
  [/`ebrc onboard`/g, 'POST /v1/exporters'],
  [/`ebrc list`/g, 'GET /v1/filings'],
  [/`ebrc findings`/g, 'GET /v1/findings'],
  [/`ebrc webhooks remove`/g, 'DELETE /v1/webhooks/{webhook}'],
  [/`ebrc webhooks list`/g, 'GET /v1/webhooks'],
  [/`?ebrc check\b`?/g, 'POST /v1/checks'],
];

/** Options with the placeholders of their values; actual values stay. */
const FIELDS: readonly [option: RegExp, field: string][] = [
  [/--allow-duplicate (\d[\d,-]*)=REASON/g, '`allowDuplicate` for row $1, with a reason'],
  [/--allow-duplicate/g, '`allowDuplicate`'],
  [/--as (filed|not-filed)/g, '`as`: $1'],
  [/--request-id(?: R\b)?/g, '`requestId`'],
  [/--certificate (\d+)=(\S+)/g, '`certificates` (row $1, number $2)'],
  [/--certificate(?: ROW=NUMBER)?/g, '`certificates`'],
  [/--note(?: TEXT)?/g, '`note`'],
  [/--rows/g, '`rows`'],
  [/--upload-type(?: (?=\d))?/g, '`uploadType` '],
  [/--declaration(?: (?=Y))?/g, '`declaration` '],
  [/--exporter(?: ID-OR-EMAIL)?/g, '`exporter`'],
  [/--reference/g, '`reference`'],
  [/--approval/g, '`approval`'],
  [/ \(EBRC_TOKEN, or the HTTP API\)/g, ''],
];

/** Replaces commands by routes and options by fields. */
export function inApiTerms(text: string): string {
  let result = text;
  for (const [pattern, replacement] of [...ROUTES, ...FIELDS]) result = result.replace(pattern, replacement);
  return result
    // What closed a command that became a route.
    .replace(/``/g, '`')
    .replace(/` (?=[,.:;])/g, '`')
    .replace(/ {2,}/g, ' ')
    .trimEnd();
}

/** The first findings, with their messages in terms of the API; the last entry says how many are not listed. */
export function findingsInApiTerms(findings: readonly unknown[]) {
  const found = firstErrors({ warnings: true });
  found.add(findings as RefusedError['errors']);
  return found.all().map((finding) => ({ ...finding, message: inApiTerms(cutText(finding.message)) }));
}
