/** Moves, and their texts, that both the ledger and the workflow make. */
import { counted } from '../text';
import type { FilingState } from './states';
import type { FilingResult } from '../contracts';

/** An older balance is read again before it is used. */
const FRESH_BALANCE_MS = 60 * 60_000;

export const isActivationPending = ({ apiState }: { apiState: string | null }): boolean =>
  apiState?.trim().toLowerCase() === 'activation_pending';

/** Whether the balances may be used at `now`, in ms since the epoch. */
export const areBalancesFresh = ({ balancesReadAt }: { balancesReadAt: number | null }, now: number): boolean =>
  balancesReadAt !== null && now - balancesReadAt <= FRESH_BALANCE_MS;

/** A move without its sequence number and time. */
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

/** The move to sending submission `submission` of `of`. */
export function submittingMove(
  { submission, rowCount }: { submission: number; rowCount: number },
  of: number,
): FirstMove {
  const text = `submission ${submission} of ${of} with ${counted(rowCount, 'row')}`;
  return { state: 'submitting', event: { kind: 'submitting', text }, attention: null };
}

/** The move to waiting for a second person's approval. */
export function approvalMove({ filingId, madeBy }: { filingId: string; madeBy: string }): FirstMove {
  return {
    state: 'awaiting_approval',
    event: { kind: 'awaiting_approval', text: 'waiting for approval' },
    attention: `Waiting for approval by somebody other than ${madeBy}: ebrc approve ${filingId}`,
  };
}

/** The event of the move to `processing`. */
export const processingNote = (requestId: string | null): FirstMove['event'] => ({
  kind: 'processing',
  text: `request ${requestId} is with the authority`,
});

/** The event of the move to `collecting`. */
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

/** The event of a filing's end, and as attention what a person can do next. */
export function endNote(
  filingId: string,
  state: FilingState,
  { errored }: FilingResult['counts'],
): Omit<FirstMove, 'state'> {
  const correctable = state === 'partly_certified' || state === 'rejected' || state === 'needs_correction';
  const what = errored > 0 ? `${errored} ${errored === 1 ? 'row' : 'rows'}` : 'It';
  return {
    event: { kind: state, text: TEXTS[state] ?? state },
    attention: correctable ? `${what} can be corrected and filed again: ebrc correct ${filingId} FILE` : null,
  };
}
