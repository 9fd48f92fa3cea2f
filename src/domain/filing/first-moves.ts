/** The moves that a filing makes before anything of it is sent: the ledger and the workflow record the same. */
import type { FilingState } from './states';

/** A balance older than this is read again before it is relied on. */
const FRESH_BALANCE_MS = 60 * 60_000;

/** What decides whether a filing's balances may be checked as they stand in the ledger. */
export interface FilingReadiness {
  /** Of the oldest balance among the filing's IRMs, ms since the epoch; null when one was never read. */
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
  const text = `submission ${submission} of ${of} with ${rowCount} rows`;
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
