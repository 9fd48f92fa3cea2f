/**
 * What the ledger holds of a filing, as the protocol's model names it (model/state-names.json), and which of these
 * states are the same to the model. Used by the check of a chaos run and by test/conformance.
 */

/** A row of `filing_rows`. */
export interface LedgerRow {
  state: string;
  live: boolean;
}

/** A row of `attempts`; `request` is its answer's. */
export interface LedgerAttempt {
  number: number;
  verdict: string;
  sender: string | null;
  /** Why it is in doubt; null: its mark counts. */
  reason: string | null;
  request: string | null;
}

/** What the ledger holds of a filing with one submission. */
export interface LedgerFiling {
  state: string;
  rows: readonly LedgerRow[];
  attempts: readonly LedgerAttempt[];
}

/** A filing and two of its attempts in the model. `marked!`: its mark counts, so its sender may still write. */
export interface View {
  filing: string;
  row: string;
  attempts: readonly [string, string];
}

export const NOTHING: LedgerFiling = { state: 'none', rows: [], attempts: [] };

const FILING_STATES: Readonly<Record<string, string>> = {
  awaiting_approval: 'checking',
  overdue: 'processing',
  partly_certified: 'certified',
};
/** What interrupts a filing; to the model it stays where it was. */
const PAUSES: ReadonlySet<string> = new Set(['needs_credentials', 'needs_access']);
const ENDS: ReadonlySet<string> = new Set(['certified', 'rejected', 'needs_correction', 'abandoned']);

/** The model's state for a state of the ledger; null for a pause. */
export const filingState = (state: string): string | null =>
  PAUSES.has(state) ? null : (FILING_STATES[state] ?? state);

/** The model has one row for all rows of a submission: it is open as long as one of them is. */
export function rowState(rows: readonly LedgerRow[]): string {
  const states = new Set(rows.map(({ state, live }) => (!live ? 'freed' : state === 'unknown' ? 'submitted' : state)));
  const [only] = states;
  if (only === undefined) return 'none';
  if (states.size === 1) return only;
  if (states.has('planned')) return [...states].sort().join(' and ');
  return ['submitted', 'abandoned_after_send', 'certified'].find((state) => states.has(state)) ?? 'freed';
}

/** The verdict of attempt `number`, `marked!` where its mark counts. */
export function attemptState(filing: LedgerFiling, number: number): string {
  const attempt = filing.attempts.find((each) => each.number === number);
  if (!attempt) return number === lostAttempt(filing) ? 'marked' : 'none';
  const { verdict, reason, request } = attempt;
  if (verdict === 'marked' && reason === null) return 'marked!';
  // An acceptance without a request to ask about is in doubt like a lost answer.
  return verdict === 'accepted' && request === null ? 'marked' : verdict;
}

const MAY_BE_FILED: ReadonlySet<string> = new Set(['open', 'marked', 'accepted', 'rejected']);

/**
 * An attempt that a ledger which was put back does not hold: its rows are of unknown outcome, and no other of them is
 * under way. @returns its number, null where there is none
 */
export function lostAttempt({ rows, attempts }: LedgerFiling): number | null {
  const inDoubt = rows.some(({ state, live }) => live && state === 'unknown');
  if (!inDoubt || attempts.some(({ verdict }) => MAY_BE_FILED.has(verdict))) return null;
  return Math.max(0, ...attempts.map(({ number }) => number)) + 1;
}

/** The same for what is the same to the protocol: PDFs are collected after it is over. */
export function normalised({ filing, row, attempts }: View): View {
  // Moved before or after the first attempt is opened, which is what the model knows of it.
  const begins = filing === 'checking' && row !== 'none';
  const settled = filing === 'collecting' || (row === 'certified' && !ENDS.has(filing));
  return {
    filing: settled ? 'certified' : begins ? 'submitting' : filing,
    row,
    attempts,
  };
}

export const textOf = ({ filing, row, attempts }: View): string => [filing, row, ...attempts].join('/');
