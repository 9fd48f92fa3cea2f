import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';

/** Opaque ids and phases only: search attributes are never encrypted. */
const EXPORTER = defineSearchAttributeKey('EbrcExporter', SearchAttributeType.KEYWORD);
const STATE = defineSearchAttributeKey('EbrcState', SearchAttributeType.KEYWORD);
const REQUEST_ID = defineSearchAttributeKey('EbrcRequestId', SearchAttributeType.KEYWORD);
const MODE = defineSearchAttributeKey('EbrcMode', SearchAttributeType.KEYWORD);
const REFERENCE = defineSearchAttributeKey('EbrcReference', SearchAttributeType.KEYWORD);
const NEEDS_ATTENTION = defineSearchAttributeKey('EbrcNeedsAttention', SearchAttributeType.BOOL);

/** What a workflow shows of itself in lists; a part left out stays as it is. */
export interface Indexed {
  exporterId?: string | null;
  state?: string;
  requestId?: string | null;
  mode?: string;
  reference?: string;
  needsAttention?: boolean;
}

/**
 * Longest keyword that every visibility store takes, in characters; a longer one would keep the workflow out of all
 * lists.
 */
const KEYWORD_LENGTH = 250;

/** The typed pairs for `upsertSearchAttributes` and for starts. */
export function searchAttributes(values: Indexed): SearchAttributePair[] {
  const pairs: SearchAttributePair[] = [];
  const keyword = (text: string) => text.slice(0, KEYWORD_LENGTH);
  // Values of an input that nobody has checked yet may be of any type; a wrong one would fail the workflow task for
  // ever.
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  if (isText(values.exporterId)) pairs.push({ key: EXPORTER, value: keyword(values.exporterId) });
  if (values.state) pairs.push({ key: STATE, value: values.state });
  if (isText(values.requestId)) pairs.push({ key: REQUEST_ID, value: keyword(values.requestId) });
  if (isText(values.mode)) pairs.push({ key: MODE, value: values.mode });
  if (isText(values.reference)) pairs.push({ key: REFERENCE, value: keyword(values.reference) });
  if (values.needsAttention !== undefined) pairs.push({ key: NEEDS_ATTENTION, value: values.needsAttention });
  return pairs;
}
