import { partsOfAttemptId } from './attempt';

/** Sends in a run's own history, which it passes on to a ledger that was restored to an earlier state. */
export interface KnownSend {
  submission: number;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** When it was marked as being sent, ms since the epoch; null if the history does not contain it. */
  sentAt: number | null;
  /** The request id under which it is polled; null if its outcome is not known. */
  requestId: string | null;
  /** The secret of the execution that the service itself told the request id; null: a person or the ledger did. */
  sentBy: string | null;
  dgftAckId: string | null;
  ackStatus: string | null;
}

/** Adds a send to the list; it replaces an entry for the same attempt, but for the proof that the run has of it. */
export function withSend(sends: readonly KnownSend[], send: KnownSend): KnownSend[] {
  const known = sends.find((each) => isOf(each, send) && each.requestId === send.requestId);
  const sentBy = send.sentBy ?? known?.sentBy ?? null;
  return [...sends.filter((each) => !isOf(each, send)), { ...send, sentBy }];
}

/** Removes an attempt of which nothing was sent after all. */
export function withoutSend(sends: readonly KnownSend[], attemptId: string): KnownSend[] {
  const { submission, number: attempt } = partsOfAttemptId(attemptId);
  return sends.filter((each) => !isOf(each, { submission, attempt }));
}

const isOf = (
  send: Pick<KnownSend, 'submission' | 'attempt'>,
  other: Pick<KnownSend, 'submission' | 'attempt'>,
): boolean => send.submission === other.submission && send.attempt === other.attempt;

/** The known send of an attempt. */
export function sentAs(
  attemptId: string,
  known: Pick<KnownSend, 'requestId' | 'sentAt'> & Partial<Pick<KnownSend, 'sentBy' | 'dgftAckId' | 'ackStatus'>>,
): KnownSend {
  const { submission, number } = partsOfAttemptId(attemptId);
  return { sentBy: null, dgftAckId: null, ackStatus: null, ...known, submission, attempt: number };
}
