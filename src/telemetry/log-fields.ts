/** Patterns of texts that identify a person or give access, and their replacements. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+/gu, '[email]'],
  // User and password of a URL.
  [/(?<=:\/\/)[^\s/@:]*:[^\s/@]*(?=@)/gu, '[credentials]'],
  [/\b(?:dev|prod)_[\w-]+/gu, '[key]'],
  [/\bebrc_(?:test|live)_[\w-]+|(?<=\bBearer )\S+/giu, '[token]'],
  [/\b\d{2}[A-Z]{5}\d{4}[A-Z][A-Z\d]{3}\b/giu, '[gstin]'],
  // An IEC has the form of a PAN; older ones have ten digits.
  [/\b(?:[A-Z]{5}\d{4}[A-Z]|\d{10})\b/giu, '[iec]'],
];

const LONGEST = 2_000;
/** Masked beyond `LONGEST`, because half of an e-mail address would not be recognised. */
const MARGIN = 500;

/** Masks e-mail addresses, IECs, GSTINs, keys and passwords, and cuts a text after 2,000 characters. */
export function maskText(text: string): string {
  const masked = FORMS.reduce((all, [form, mask]) => all.replace(form, mask), text.slice(0, LONGEST + MARGIN));
  const whole = text.length > LONGEST + MARGIN ? masked.slice(0, -MARGIN) : masked;
  return whole.length > LONGEST || whole !== masked ? `${whole.slice(0, LONGEST)}…` : masked;
}

/** The fields of log lines; others are dropped. Only short words, ids and counts: no names, numbers or amounts. */
export const LOG_FIELDS: ReadonlySet<string> = new Set([
  // Subjects
  ...['filingId', 'exporterId', 'partyId', 'attemptId', 'extractionId', 'eBRCNumber', 'reference', 'traceId', 'spanId'],
  // Temporal's
  ...['workflowId', 'workflowType', 'runId', 'taskQueue', 'namespace', 'activity', 'activityType', 'activityId'],
  ...['attempt', 'isLocal', 'sdkComponent', 'timeToCompletionMs', 'taskFailureCause'],
  // Calls and outcomes
  ...['operation', 'rateClass', 'status', 'kind', 'code', 'outcome', 'reason', 'problem', 'retry', 'nextDelayMs'],
  ...['nextInMs', 'benign', 'job', 'faults', 'state', 'event', 'requestId', 'keyId', 'why', 'what'],
  ...['besides'],
  // Counts
  ...['count', 'rows', 'row', 'removed', 'labels', 'opened', 'closed', 'open', 'filings', 'resumed', 'reported'],
  ...['version', 'imported', 'inTime', 'boundMs', 'offMs', 'droppedFields', 'certificates', 'severe', 'n'],
  // The ledger's time
  ...['beat', 'before', 'epoch', 'whole'],
  // Reports
  ...['on', 'page', 'workbook'],
  // The program itself
  ...['address', 'host', 'port', 'url', 'apiUrl', 'mode', 'registered', 'missing', 'documents'],
]);

/** Names that other libraries use for our fields. */
const ALIASES: Readonly<Record<string, string>> = { error: 'err', trace_id: 'traceId', span_id: 'spanId' };

const MOST_ENTRIES = 50;
const DEEPEST_CAUSE = 3;

/** The allowed fields of a log line; `droppedFields` counts the others. */
export function allowedFields(fields: object): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  let droppedFields = 0;
  for (const [given, value] of Object.entries(fields)) {
    const name = ALIASES[given] ?? given;
    const written = name === 'err' ? errorFields(value) : LOG_FIELDS.has(name) ? plain(value) : undefined;
    if (written !== undefined) kept[name] = written;
    else if (value !== undefined) droppedFields += 1;
  }
  return droppedFields === 0 ? kept : { ...kept, droppedFields };
}

/** A masked text, a plain value or a list of them; undefined for objects. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (!Array.isArray(value)) return undefined;
  const entries = value.slice(0, MOST_ENTRIES).map(plain);
  return entries.includes(undefined) ? undefined : entries;
}

/** Class, code, kind, message, stack and causes. Without the message if there is a kind: it quotes the service. */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return maskText(String(error));
  const { name, message, stack, cause } = error;
  const { code, kind, type } = error as { code?: unknown; kind?: unknown; type?: unknown };
  const words = Object.entries({ code, kind: kind ?? type }).filter(([, value]) => typeof value === 'string');
  return {
    type: name,
    ...Object.fromEntries(words),
    ...(typeof kind !== 'string' && typeof type !== 'string' && { message: maskText(message) }),
    stack: maskText(
      (stack ?? '')
        .split('\n')
        .filter((line) => /^\s+at /u.test(line))
        .join('\n'),
    ),
    ...(cause !== undefined && depth < DEEPEST_CAUSE && { cause: errorFields(cause, depth + 1) }),
  };
}
