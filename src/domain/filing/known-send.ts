import { partsOfAttemptId } from './attempt';

/**
 * The sends of a filing that a run's own history contains. A ledger that was restored to an earlier state has fewer
 * sends than the runs that were active meanwhile; they pass these on to it.
 */
export interface KnownSend {
  submission: number;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** When it was marked as being sent, ms since the epoch; null if the history does not contain it. */
  sentAt: number | null;
  /** The request id under which it is polled; null if its outcome is not known. */
  requestId: string | null;
  /** Whether the request id came from the service itself, and not from a person. */
  accepted: boolean;
  dgftAckId: string | null;
  ackStatus: string | null;
}

/** Adds a send to the list; it replaces an entry for the same attempt. */
export function withSend(sends: readonly KnownSend[], send: KnownSend): KnownSend[] {
  return [...sends.filter((each) => !isOf(each, send)), send];
}

/** Removes an attempt of which nothing was sent after all. */
export function withoutSend(sends: readonly KnownSend[], attemptId: string): KnownSend[] {
  const { submission, number: attempt } = partsOfAttemptId(attemptId);
  return sends.filter((each) => !isOf(each, { submission, attempt }));
}

type AttemptOf = Pick<KnownSend, 'submission' | 'attempt'>;

const isOf = (send: AttemptOf, other: AttemptOf): boolean =>
  send.submission === other.submission && send.attempt === other.attempt;

/** The known send of an attempt. */
export function sentAs(
  attemptId: string,
  known: Pick<KnownSend, 'requestId' | 'sentAt' | 'accepted'> & Partial<Pick<KnownSend, 'dgftAckId' | 'ackStatus'>>,
): KnownSend {
  const { submission, number } = partsOfAttemptId(attemptId);
  return { dgftAckId: null, ackStatus: null, ...known, submission, attempt: number };
}
