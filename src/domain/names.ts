/** Names that users of Temporal see: task queues, workflow ids, search attributes. Callers rely on them. */

/** `live` for a `prod_` key, `test` for a `dev_` key (spec: "Conventions", environments). */
export type Mode = 'test' | 'live';

/** The mode of an API key, by its prefix; null for a prefix that the specification does not know. */
export function modeOfKey(apiKey: string): Mode | null {
  if (apiKey.startsWith('prod_')) return 'live';
  if (apiKey.startsWith('dev_')) return 'test';
  return null;
}

/** The service's rate classes (spec: "Limits"), each with its calls per window. `api` is "all other endpoints". */
export const RATE_LIMITS = {
  api: 100,
  credentials: 4,
  bulk: 5,
  pdf: 5,
  'irm-refresh': 6,
  push: 10,
  details: 10,
  template: 10,
} as const;

export type RateClass = keyof typeof RATE_LIMITS;

export const RATE_CLASSES = Object.keys(RATE_LIMITS) as RateClass[];

/** Calls to the extraction service, another host, have their own task queue and pace. */
export const EXTRACTION = 'extraction';

/** The task queue of a rate class, or of extraction: `ebrc-push` for class push under the main queue `ebrc`. */
export function queueOfClass(mainQueue: string, rateClass: RateClass | typeof EXTRACTION): string {
  return `${mainQueue}-${rateClass}`;
}

/** `file/<mode>/<reference>`, with `/<n>` from the second on. Encodes `/` and `%`: `R/2` is not the second of `R`. */
export function filingWorkflowId(mode: Mode, reference: string, n = 1): string {
  const name = reference.replace(/[%/]/g, (character) => (character === '%' ? '%25' : '%2F'));
  return n === 1 ? `file/${mode}/${name}` : `file/${mode}/${name}/${n}`;
}

/** A filing's name in commands: `REFERENCE`, or `REFERENCE#n` from the second filing on. */
export function filingName({ reference, n }: { reference: string; n: number }): string {
  return n === 1 ? reference : `${reference}#${n}`;
}

/** The highest number of a filing under one reference. */
export const MAX_FILINGS_OF_REFERENCE = 1_000_000;

/** Whether a reference looks like the name of another filing (`A#2`, an id), which commands would find instead. */
export const namesAnotherFiling = (reference = ''): boolean =>
  /#\d+$|^file\/(test|live)\/|^F[0-9A-F]{15}$/u.test(reference);

export function credentialsWorkflowId(mode: Mode, exporterId: string): string {
  return `credentials/${mode}/${exporterId}`;
}

/** `onboard/<mode>/<hash of e-mail>`; the hash keeps the address out of workflow ids, which are never encrypted. */
export function onboardWorkflowId(mode: Mode, emailHash: string): string {
  return `onboard/${mode}/${emailHash}`;
}

/** Search attributes. They are never encrypted, so they hold only opaque ids and states. */
export const SEARCH_ATTRIBUTES = {
  EbrcExporter: 'Keyword',
  EbrcState: 'Keyword',
  EbrcRequestId: 'Keyword',
  EbrcMode: 'Keyword',
  EbrcReference: 'Keyword',
  EbrcNeedsAttention: 'Bool',
} as const;

/** Values of a workflow's search attributes; those left out stay unchanged. */
export interface Indexed {
  exporterId?: string | null;
  state?: string;
  requestId?: string | null;
  mode?: string;
  reference?: string;
  needsAttention?: boolean;
}

/** Every visibility store accepts keywords of this length; a longer one would keep the workflow out of all lists. */
const KEYWORD_LENGTH = 250;

/** In the form of the SDK's `upsertSearchAttributes` and start options. */
export function searchAttributes(args: Indexed) {
  const { exporterId, state, requestId, mode, reference, needsAttention } = args;
  const keywords = {
    EbrcExporter: exporterId,
    EbrcState: state,
    EbrcRequestId: requestId,
    EbrcMode: mode,
    EbrcReference: reference,
  };
  // The values may come from an unchecked input and have any type; a wrong type would fail each workflow task.
  const pairs = Object.entries(keywords).flatMap(([name, value]) =>
    typeof value === 'string' && value !== ''
      ? [{ key: { name, type: 'KEYWORD' as const }, value: value.slice(0, KEYWORD_LENGTH) }]
      : [],
  );
  if (needsAttention === undefined) return pairs;
  return [...pairs, { key: { name: 'EbrcNeedsAttention', type: 'BOOL' as const }, value: needsAttention }];
}
