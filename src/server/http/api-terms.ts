/** Texts that name commands and options of the command line, in the words of a caller of the API: routes and fields. */

/** Commands, with the options that belong to them behind the name of what they are about. */
const ROUTES: readonly [command: RegExp, route: string][] = [
  [/`?ebrc (approve|resolve|abandon|resume|correct) (F[0-9A-F]{15}|FILING)\b(?: FILE\b)?`?/g, 'POST /v1/filings/$2/$1'],
  [/`?ebrc (approve|resolve|abandon|resume|correct)\b`?/g, 'POST /v1/filings/{filing}/$1'],
  [/`?ebrc show (F[0-9A-F]{15}|FILING)\b`?/g, 'GET /v1/filings/$1'],
  [/`ebrc show`/g, 'GET /v1/filings/{filing}'],
  [/`?ebrc credentials ([\w@.-]+\b)(?: --username …)?(?: --password-stdin)?`?/g, 'PUT /v1/exporters/$1/credentials'],
  [/`ebrc credentials`/g, 'PUT /v1/exporters/{exporter}/credentials'],
  [/`?ebrc irms ([\w@.-]+\b)(?: --refresh)?`?/g, 'GET /v1/exporters/$1/irms'],
  [/`ebrc exporters`/g, 'GET /v1/exporters'],
  [/`ebrc onboard`/g, 'POST /v1/exporters'],
  [/`ebrc list`/g, 'GET /v1/filings'],
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
