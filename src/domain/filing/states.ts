import { HOUR_MS } from '../dates';
import { RATE_LIMITS } from '../names';

/** States and transitions of a filing, for the workflow, which makes the moves, and the ledger, which checks them. */
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

/** The kind of question that is open while a filing is in a state. */
export const QUESTION_OF_STATE: Partial<Record<FilingState, string>> = {
  awaiting_approval: 'awaiting_approval',
  needs_credentials: 'needs_credentials',
  needs_access: 'needs_access',
  outcome_unknown: 'outcome_unknown',
  overdue: 'filing_overdue',
  needs_correction: 'needs_correction',
  partly_certified: 'needs_correction',
  rejected: 'needs_correction',
};

/** States that interrupt a filing at any point; it then returns to its previous state. */
const PAUSES: readonly FilingState[] = ['needs_credentials', 'needs_access'];
const AFTER_SEND: readonly FilingState[] = ['processing', 'collecting', 'outcome_unknown', 'overdue'];

/** The states that may follow each state. End states have none: a correction is a new filing. */
export const FILING_TRANSITIONS: Readonly<Record<FilingState, readonly FilingState[]>> = {
  checking: ['awaiting_approval', 'submitting', 'needs_correction', 'abandoned', ...PAUSES],
  awaiting_approval: ['checking', 'submitting', 'needs_correction', 'abandoned', ...PAUSES],
  submitting: ['processing', 'collecting', 'outcome_unknown', 'needs_correction', 'rejected', 'abandoned', ...PAUSES],
  processing: [
    'collecting',
    'overdue',
    'submitting',
    'outcome_unknown',
    'rejected',
    'needs_correction',
    'abandoned',
    ...PAUSES,
  ],
  collecting: ['certified', 'partly_certified', 'rejected', 'overdue', 'abandoned', ...PAUSES],
  needs_credentials: ['checking', 'awaiting_approval', 'submitting', ...AFTER_SEND, 'needs_access', 'abandoned'],
  needs_access: ['checking', 'awaiting_approval', 'submitting', ...AFTER_SEND, 'needs_credentials', 'abandoned'],
  outcome_unknown: ['submitting', 'processing', 'collecting', 'needs_correction', 'rejected', 'abandoned', ...PAUSES],
  overdue: [
    'processing',
    'collecting',
    'certified',
    'partly_certified',
    'outcome_unknown',
    'submitting',
    'rejected',
    'needs_correction',
    'abandoned',
    ...PAUSES,
  ],
  certified: [],
  partly_certified: [],
  rejected: [],
  needs_correction: [],
  abandoned: [],
};

/** Whether `next` may follow `state`; a state may always follow itself. */
export function mayFollow(state: FilingState, next: FilingState): boolean {
  return state === next || FILING_TRANSITIONS[state].includes(next);
}

/** Whether `state` interrupts a filing that later returns to its previous state. */
export function isPause(state: FilingState): boolean {
  return PAUSES.includes(state);
}

export function isEnd(state: FilingState): boolean {
  return FILING_TRANSITIONS[state].length === 0;
}

/** The states in which rows may have certificates or errors of the authority. */
export const SHOWS_ROWS = FILING_STATES.filter(
  (state) => isEnd(state) || ['collecting', 'outcome_unknown', 'overdue'].includes(state),
);

export function needsAttention(state: FilingState): boolean {
  return QUESTION_OF_STATE[state] !== undefined;
}

export const OPEN_ROW_STATES = ['planned', 'submitted', 'unknown'] as const;

export type RowState =
  | (typeof OPEN_ROW_STATES)[number]
  | 'certified'
  | 'abandoned_after_send'
  | 'needs_correction'
  | 'withdrawn'
  | 'corrected';

/** The end state by a filing's rows: all certified, some, or none. Null while a row has no outcome. */
export function endOf(
  args: Record<'rows' | 'open' | 'certified', number>,
): 'certified' | 'partly_certified' | 'rejected' | null {
  const { rows, open, certified } = args;
  if (open > 0) return null;
  if (certified === rows) return 'certified';
  return certified > 0 ? 'partly_certified' : 'rejected';
}

/** `planned`: as far as known not at the service. `settled`: every row has its outcome. `released`: rows are free. */
export type SubmissionState = 'planned' | 'acknowledged' | 'settled' | 'released';

/** How many rate windows a call may wait in the queue: enough for hundreds of filings with a few calls each. */
const QUEUED_WINDOWS = 180;
/** Margin after the overdue time, because the workflow itself reports an overdue filing first. */
const PAST_OVERDUE_MS = HOUR_MS;

export interface StateLimitSettings {
  overdueAfterMs: number;
  rateWindowMs: number;
}

/** How long (ms) a filing may stay in a state without attention; null: it waits for a person, or has ended. */
export function stateLimitMs(
  state: FilingState,
  { overdueAfterMs, rateWindowMs }: StateLimitSettings,
  certificates: number,
): number | null {
  if (isEnd(state) || needsAttention(state)) return null;
  if (state === 'processing') return overdueAfterMs + PAST_OVERDUE_MS;
  if (state === 'collecting') return overdueAfterMs + PAST_OVERDUE_MS + (certificates / RATE_LIMITS.pdf) * rateWindowMs;
  return QUEUED_WINDOWS * rateWindowMs;
}
