/**
 * What the ledger holds of a filing, as the protocol's model names it (model/state-names.json), and which of these
 * states are the same to the model. Used by the check of a chaos run and by test/conformance.
 */

/** A row of `filing_rows`. */
export interface LedgerRow {
  state: string;
  live: boolean;
}

/** A row of `attempts`; `kind` and `request` are its answer's. */
export interface LedgerAttempt {
  number: number;
  state: string;
  sender: string | null;
  /** Why it is closed or in doubt; null: it is open, or its mark counts. */
  reason: string | null;
  kind: string | null;
  request: string | null;
}

/** What the ledger holds of a filing with one submission. */
export interface LedgerFiling {
  state: string;
  rows: readonly LedgerRow[];
  attempts: readonly LedgerAttempt[];
  /** The request that the submission is followed under. */
  request: string | null;
}

/** A filing and two of its attempts in the model. `sending!`: its mark counts, so its sender may still write. */
export interface View {
  filing: string;
  row: string;
  attempts: readonly [string, string];
}

export const NOTHING: LedgerFiling = { state: 'none', rows: [], attempts: [], request: null };

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

/** The model's state of attempt `number`, `sending!` where its mark counts. */
export function attemptState(filing: LedgerFiling, number: number): string {
  const attempt = filing.attempts.find((each) => each.number === number);
  if (!attempt) return number === lostAttempt(filing) ? 'sending' : 'none';
  const { state, kind, reason, request } = attempt;
  switch (state) {
    case 'sending':
      if (number === attemptFoundByPerson(filing)) return 'accepted';
      return reason === null ? 'sending!' : 'sending';
    case 'answered':
      if (kind !== 'accepted') return 'refused';
      // Without a request to ask about it is in doubt like one that has no answer.
      if (request === null) return 'sending';
      // What the authority rejected was accepted before, and its rows are free again.
      return rowState(filing.rows) === 'freed' ? 'errored' : 'accepted';
    case 'not_sent':
      if (kind === null) return 'not_sent';
      return kind === 'accepted' ? 'errored' : 'refused';
    default:
      return state;
  }
}

/**
 * An attempt that a ledger which was put back does not hold: its rows are of unknown outcome, and no other of them is
 * under way. @returns its number, null where there is none
 */
export function lostAttempt({ rows, attempts }: LedgerFiling): number | null {
  const inDoubt = rows.some(({ state, live }) => live && state === 'unknown');
  if (!inDoubt || attempts.some(({ state }) => state !== 'not_sent')) return null;
  return Math.max(0, ...attempts.map(({ number }) => number)) + 1;
}

/** The attempt whose request a person found at the service: the newest that may have been sent under it. */
function attemptFoundByPerson({ request, attempts }: LedgerFiling): number | null {
  if (request === null || attempts.some((each) => each.request === request)) return null;
  const sending = attempts.filter(({ state }) => state === 'sending').map(({ number }) => number);
  return sending.length > 0 ? Math.max(...sending) : null;
}

/** An attempt's state without its mark, where a certificate may say what it became. */
export const afterCertificate = (attempt: string, row: string): string =>
  row === 'certified' && attempt.startsWith('sending') ? 'accepted' : attempt;

/** The same for what is the same to the protocol: PDFs are collected after it is over. */
export function normalised({ filing, row, attempts }: View): View {
  // Of a refused attempt nothing is at the service; whether its rows are freed or sent again is in the rows.
  const shown = attempts.map((state) => (state === 'refused' ? 'not_sent' : afterCertificate(state, row)));
  // Moved before or after the first attempt is opened, which is what the model knows of it.
  const begins = filing === 'checking' && row !== 'none';
  const settled = filing === 'collecting' || (row === 'certified' && !ENDS.has(filing));
  return {
    filing: settled ? 'certified' : begins ? 'submitting' : filing,
    row,
    attempts: [shown[0] ?? 'none', shown[1] ?? 'none'],
  };
}

export const textOf = ({ filing, row, attempts }: View): string => [filing, row, ...attempts].join('/');
