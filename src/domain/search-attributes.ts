/** Search attributes: opaque ids and phases only, because they are never encrypted. */
export const SEARCH_ATTRIBUTES = {
  EbrcExporter: 'Keyword',
  EbrcState: 'Keyword',
  EbrcRequestId: 'Keyword',
  EbrcMode: 'Keyword',
  EbrcReference: 'Keyword',
  EbrcNeedsAttention: 'Bool',
} as const;

/** What a workflow shows of itself in lists; a part left out stays as it is. */
export interface Indexed {
  exporterId?: string | null;
  state?: string;
  requestId?: string | null;
  mode?: string;
  reference?: string;
  needsAttention?: boolean;
}

/** A value as the SDK takes it in `upsertSearchAttributes` and in starts. */
type AttributePair =
  { key: { name: string; type: 'KEYWORD' }; value: string } | { key: { name: string; type: 'BOOL' }; value: boolean };

/** That every visibility store takes; a longer keyword would keep the workflow out of all lists. */
const KEYWORD_LENGTH = 250;

export function searchAttributes(args: Indexed): AttributePair[] {
  const { exporterId, state, requestId, mode, reference, needsAttention } = args;
  const keywords = {
    EbrcExporter: exporterId,
    EbrcState: state,
    EbrcRequestId: requestId,
    EbrcMode: mode,
    EbrcReference: reference,
  };
  // Values of an input that nobody has checked yet may be of any type; a wrong one would fail the workflow task for
  // ever.
  const pairs = Object.entries(keywords).flatMap(([name, value]): AttributePair[] =>
    typeof value === 'string' && value !== ''
      ? [{ key: { name, type: 'KEYWORD' }, value: value.slice(0, KEYWORD_LENGTH) }]
      : [],
  );
  if (needsAttention === undefined) return pairs;
  return [...pairs, { key: { name: 'EbrcNeedsAttention', type: 'BOOL' }, value: needsAttention }];
}
