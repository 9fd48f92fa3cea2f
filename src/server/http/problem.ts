/** Errors as the API answers them: application/problem+json (RFC 9457). */
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import type { RefusedError } from '../../starter/errors';

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

// Texts that name commands and options of the command line, in the words of a caller of the API: routes and fields.

/** Commands, with the options that belong to them behind the name of what they are about. */
const ROUTES: readonly [command: RegExp, route: string][] = [
  [/`?ebrc (approve|resolve|abandon|resume|correct) (F[0-9A-F]{15}|FILING)\b(?: FILE\b)?`?/g, 'POST /v1/filings/$2/$1'],
  [/`?ebrc (approve|resolve|abandon|resume|correct)\b`?/g, 'POST /v1/filings/{filing}/$1'],
  [/`?ebrc show (F[0-9A-F]{15}|FILING)\b`?/g, 'GET /v1/filings/$1'],
  [/(?<=evidence in )`ebrc show`/g, 'GET /v1/filings/{filing}/evidence'],
  [/`ebrc show`/g, 'GET /v1/filings/{filing}'],
  [/`?ebrc credentials ([\w@.-]+\b)(?: --username …)?(?: --password-stdin)?`?/g, 'PUT /v1/exporters/$1/credentials'],
  [/`ebrc credentials`/g, 'PUT /v1/exporters/{exporter}/credentials'],
  [/`?ebrc irms ([\w@.-]+\b)(?: --refresh)?`?/g, 'GET /v1/exporters/$1/irms'],
  [/`ebrc exporters`/g, 'GET /v1/exporters'],
  [/`ebrc onboard`/g, 'POST /v1/exporters'],
  [/`ebrc list`/g, 'GET /v1/filings'],
  [/`ebrc findings`/g, 'GET /v1/findings'],
  [/`?ebrc check\b`?/g, 'POST /v1/checks'],
];

/** Options, with the placeholder of a value; a value itself stays. */
const FIELDS: readonly [option: RegExp, field: string][] = [
  [/--allow-duplicate (\d[\d,-]*)=REASON/g, '`allowDuplicate` for row $1, with a reason'],
  [/--allow-duplicate/g, '`allowDuplicate`'],
  [/--again (\d+)/g, '`n`: $1'],
  [/--again/g, '`n`'],
  [/--as (filed|not-filed)/g, '`as`: $1'],
  [/--request-id(?: R\b)?/g, '`requestId`'],
  [/--certificate (\d+)=(\S+)/g, '`certificates` (row $1, number $2)'],
  [/--certificate(?: ROW=NUMBER)?/g, '`certificates`'],
  [/--not-ours(?: NUMBER)?/g, '`notOurs`'],
  [/--unseen/g, '`unseen`'],
  [/--note(?: TEXT)?/g, '`note`'],
  [/--rows/g, '`rows`'],
  [/--upload-type(?: (?=\d))?/g, '`uploadType` '],
  [/--declaration(?: (?=Y))?/g, '`declaration` '],
  [/--exporter(?: ID-OR-EMAIL)?/g, '`exporter`'],
  [/--reference/g, '`reference`'],
  [/--approval/g, '`approval`'],
  [/ \(EBRC_TOKEN, or the HTTP API\)/g, ''],
];

/** The text in the terms of the API: options as fields, commands as routes. */
export function inApiTerms(text: string): string {
  let result = text;
  for (const [words, own] of [...ROUTES, ...FIELDS]) result = result.replace(words, own);
  return result
    .replace(/` (?=[,.:;])/g, '`')
    .replace(/ {2,}/g, ' ')
    .trimEnd();
}

/** Findings in the terms of the API. */
export const findingsInApiTerms = <T>(findings: readonly T[]): T[] =>
  findings.map((each) => {
    const { message } = each as { message?: unknown };
    return typeof message === 'string' ? { ...each, message: inApiTerms(message) } : each;
  });
