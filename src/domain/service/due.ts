import { isEnd, needsAttention, type FilingState } from '../filing/states';

const HOUR_MS = 3_600_000;

/**
 * Windows of the service's rate limits that a call may wait for its turn: hundreds of filings, at a few calls in each.
 */
const QUEUED_WINDOWS = 180;
/** Past the time after which a filing is overdue it says so by itself; this is for a run that does not. */
const PAST_OVERDUE_MS = HOUR_MS;
const PDFS_PER_WINDOW = 5;

export interface DueSettings {
  overdueAfterMs: number;
  rateWindowMs: number;
}

/**
 * How long a state explains that a filing does not move, in ms; null where it waits for a person, or has ended. A
 * filing that stands longer asks for attention, and what cannot ask by itself is found by the sweep.
 */
export function explainedMs(
  state: FilingState,
  { overdueAfterMs, rateWindowMs }: DueSettings,
  certificates: number,
): number | null {
  if (isEnd(state) || needsAttention(state)) return null;
  if (state === 'processing') return overdueAfterMs + PAST_OVERDUE_MS;
  if (state === 'collecting') return overdueAfterMs + PAST_OVERDUE_MS + (certificates / PDFS_PER_WINDOW) * rateWindowMs;
  return QUEUED_WINDOWS * rateWindowMs;
}
