import { isEnd, needsAttention, type FilingState } from './states';
import { HOUR_MS } from '../dates';

/** Rate windows that a call may wait in the queue: hundreds of filings, with a few calls each. */
const QUEUED_WINDOWS = 180;
/** The workflow reports an overdue filing itself; this margin is for one that does not. */
const PAST_OVERDUE_MS = HOUR_MS;
const PDFS_PER_WINDOW = 5;

export interface StateLimitSettings {
  overdueAfterMs: number;
  rateWindowMs: number;
}

/**
 * How long a filing may stay in a state, in ms; null if it waits for a person, or has ended. After that it needs
 * attention; the sweep reports filings whose workflow does not.
 */
export function stateLimitMs(
  state: FilingState,
  { overdueAfterMs, rateWindowMs }: StateLimitSettings,
  certificates: number,
): number | null {
  if (isEnd(state) || needsAttention(state)) return null;
  if (state === 'processing') return overdueAfterMs + PAST_OVERDUE_MS;
  if (state === 'collecting') return overdueAfterMs + PAST_OVERDUE_MS + (certificates / PDFS_PER_WINDOW) * rateWindowMs;
  return QUEUED_WINDOWS * rateWindowMs;
}
