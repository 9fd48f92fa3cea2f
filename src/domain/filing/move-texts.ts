/** The moves that the ledger and the workflow make alike, and what they say. */
import { counted } from '../text';
import type { FilingState } from './states';
import type { FilingCounts } from '../contracts';

/** A balance older than this is read again before it is relied on. */
const FRESH_BALANCE_MS = 60 * 60_000;

/** What decides whether a filing's balances may be checked as they stand in the ledger. */
export interface FilingReadiness {
  /** When the oldest balance of the filing's IRMs was read, ms since the epoch; null when one never was. */
  balancesReadAt: number | null;
  apiState: string | null;
  /** ISO 8601. */
  activatesAt: string | null;
}

export const isActivationPending = ({ apiState }: FilingReadiness): boolean =>
  apiState?.trim().toLowerCase() === 'activation_pending';

/** Whether the balances may be relied on at `now`, in ms since the epoch. */
export const areBalancesFresh = ({ balancesReadAt }: FilingReadiness, now: number): boolean =>
  balancesReadAt !== null && now - balancesReadAt <= FRESH_BALANCE_MS;

/** A move without its number and time. */
export interface FirstMove {
  state: FilingState;
  event: { kind: string; text: string };
  attention: string | null;
}

export const CHECKING: FirstMove = {
  state: 'checking',
  event: { kind: 'checking', text: 'rules passed; checking balances' },
  attention: null,
};

/** To the sending of a submission, one of `of`. */
export function submittingMove(
  { submission, rowCount }: { submission: number; rowCount: number },
  of: number,
): FirstMove {
  const text = `submission ${submission} of ${of} with ${counted(rowCount, 'row')}`;
  return { state: 'submitting', event: { kind: 'submitting', text }, attention: null };
}

/** To the wait for a second person. */
export function approvalMove({ filingId, madeBy }: { filingId: string; madeBy: string }): FirstMove {
  return {
    state: 'awaiting_approval',
    event: { kind: 'awaiting_approval', text: 'waiting for approval' },
    attention: `Waiting for approval by somebody other than ${madeBy}: ebrc approve ${filingId}`,
  };
}

/** The note of the move to the processing of a request. */
export const processingNote = (requestId: string | null): FirstMove['event'] => ({
  kind: 'processing',
  text: `request ${requestId} is with the authority`,
});

/** The note of the move to the collection of certificates. */
export const COLLECTING_NOTE: FirstMove['event'] = {
  kind: 'collecting',
  text: 'the rows are settled; collecting certificates',
};

const TEXTS: Partial<Record<FilingState, string>> = {
  certified: 'every row has its certificate',
  partly_certified: 'some rows have their certificate, the others need a correction',
  rejected: 'the authority rejected every row',
  needs_correction: 'refused before anything was accepted',
  abandoned: 'given up',
};

/** The event text of a filing's end, and what a person can do about it. */
export function endNote(filingId: string, state: FilingState, { errored }: FilingCounts): Omit<FirstMove, 'state'> {
  const correctable = state === 'partly_certified' || state === 'rejected' || state === 'needs_correction';
  const what = errored > 0 ? `${errored} ${errored === 1 ? 'row' : 'rows'}` : 'It';
  return {
    event: { kind: state, text: TEXTS[state] ?? state },
    attention: correctable ? `${what} can be corrected and filed again: ebrc correct ${filingId} FILE` : null,
  };
}
