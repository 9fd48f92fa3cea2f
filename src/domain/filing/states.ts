/** States of a filing, of its rows and of its attempts, as the ledger stores them. */
export const FILING_STATES = [
  'checking',
  'awaiting_approval',
  'submitting',
  'processing',
  'collecting',
  'needs_credentials',
  'needs_access',
  'outcome_unknown',
  'overdue',
  'certified',
  'partly_certified',
  'rejected',
  'needs_correction',
  'abandoned',
] as const;

export type FilingState = (typeof FILING_STATES)[number];

const ENDS: readonly FilingState[] = ['certified', 'partly_certified', 'rejected', 'needs_correction', 'abandoned'];

/** Whether a filing in this state has ended. What is learnt late may open it again. */
export const isEnd = (state: string): boolean => (ENDS as readonly string[]).includes(state);

/** `planned`, `sent` and `certified` rows hold their mapping; `rejected` and `released` ones have freed it. */
export type RowState = 'planned' | 'sent' | 'certified' | 'rejected' | 'released';

/**
 * `sending`: its bytes may be written. `unknown`: it may have arrived. `accepted`: the service has it. `refused`: the
 * service refused its content. `not_sent`: no byte was written, or the refusal passes. `not_filed`: persons said that
 * it did not arrive.
 */
export type Verdict = 'sending' | 'unknown' | 'accepted' | 'refused' | 'not_sent' | 'not_filed';

/** Verdicts of an attempt that may have arrived at the service. */
export const MAYBE_FILED: readonly Verdict[] = ['sending', 'unknown', 'accepted'];

/** Whether an attempt may have arrived at the service. */
export const mayBeFiled = ({ verdict }: { verdict: Verdict }): boolean => MAYBE_FILED.includes(verdict);

/** The end state by a filing's rows; null while one is planned or sent. */
export function endOf(rows: Record<RowState, number>): FilingState | null {
  if (rows.planned + rows.sent > 0) return null;
  if (rows.certified > 0) return rows.rejected + rows.released > 0 ? 'partly_certified' : 'certified';
  return rows.rejected > 0 ? 'rejected' : 'needs_correction';
}
