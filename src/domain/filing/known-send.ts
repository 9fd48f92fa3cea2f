import { partsOfAttemptId } from './attempt';

/**
 * What a run's own history says of the sends of its filing. A ledger that was put back to an earlier state knows less
 * than the runs that go on meanwhile: they hand this in.
 */
export interface KnownSend {
  submission: number;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** When it was marked as being sent, ms since the epoch; null where the history does not say. */
  sentAt: number | null;
  /** The request that it is followed under; null where its outcome is not known. */
  requestId: string | null;
  /** Whether the service itself answered with the request, and not a person. */
  accepted: boolean;
  dgftAckId: string | null;
  ackStatus: string | null;
}

/** A list of sends with this one in it, in the place of what was known of the same attempt before. */
export function withSend(sends: readonly KnownSend[], send: KnownSend): KnownSend[] {
  return [...sends.filter((each) => !isOf(each, send)), send];
}

/** A list of sends without this attempt, of which nothing was sent after all. */
export function withoutSend(sends: readonly KnownSend[], attemptId: string): KnownSend[] {
  const { submission, number: attempt } = partsOfAttemptId(attemptId);
  return sends.filter((each) => !isOf(each, { submission, attempt }));
}

type AttemptOf = Pick<KnownSend, 'submission' | 'attempt'>;

const isOf = (send: AttemptOf, other: AttemptOf): boolean =>
  send.submission === other.submission && send.attempt === other.attempt;

/** What is known of the send of an attempt. */
export function sentAs(
  attemptId: string,
  known: Pick<KnownSend, 'requestId' | 'sentAt' | 'accepted'> & Partial<Pick<KnownSend, 'dgftAckId' | 'ackStatus'>>,
): KnownSend {
  const { submission, number } = partsOfAttemptId(attemptId);
  return { dgftAckId: null, ackStatus: null, ...known, submission, attempt: number };
}
