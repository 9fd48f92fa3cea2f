/** One attempt to send a submission, as the ledger stores it and workflows and activities pass it on. */
import { cutText } from '../text';

/** The service's answer to a submission, or the refusal; without secrets, with every list of the answer. */
export interface StoredAnswer {
  /** `accepted` for a 2xx that parses; otherwise the kind of the error. */
  kind: string;
  status?: number;
  requestId?: string | null;
  dgftAckId?: string | null;
  ackStatus?: string | null;
  recordResCount?: number | null;
  errorDetails?: unknown[];
  parsedRowCount?: number | null;
  irms?: unknown[];
  warnings?: unknown[];
  message?: string;
  errorCode?: string;
  fieldErrors?: { row?: number; field?: string; message: string }[];
}

/** Entries of each list of an answer that are passed between activities and workflows. */
const SAMPLE_ENTRIES = 20;
const SAMPLE_BYTES = 500;

/** What of an answer passes between activities and workflows: the ledger has all, and payloads are limited. */
export function answerInShort(answer: StoredAnswer): StoredAnswer {
  const { irms: _, warnings, errorDetails, fieldErrors, message, errorCode, ...ids } = answer;
  const inShort = (text: string | undefined) => (text === undefined ? undefined : cutText(text, SAMPLE_BYTES));
  return {
    ...ids,
    message: inShort(message),
    errorCode: inShort(errorCode),
    errorDetails: errorDetails?.slice(0, SAMPLE_ENTRIES).map(entryInShort),
    warnings: warnings?.slice(0, SAMPLE_ENTRIES).map(entryInShort),
    fieldErrors: fieldErrors
      ?.slice(0, SAMPLE_ENTRIES)
      .map((each) => ({ ...each, field: inShort(each.field), message: cutText(each.message, SAMPLE_BYTES) })),
  };
}

function entryInShort(entry: unknown): unknown {
  if (typeof entry === 'string') return cutText(entry, SAMPLE_BYTES);
  const json = JSON.stringify(entry) ?? '';
  return json.length <= SAMPLE_BYTES ? entry : cutText(json, SAMPLE_BYTES);
}

/**
 * `open`: nothing is written. `marked`: in doubt. `unsent`: proven. `refused`: documented. `rejected`: its rows are
 * Errored. `absent`: a complete look showed nothing. `accepted`: by the service; may follow any other.
 */
export type AttemptVerdict = 'open' | 'marked' | 'unsent' | 'refused' | 'rejected' | 'absent' | 'accepted';

/** Verdicts after which a submission may be sent again: nothing of the attempt is at the service. */
export const NOT_FILED: readonly AttemptVerdict[] = ['unsent', 'refused', 'absent'];

/** Verdicts of an attempt that is, or may be, at the service. */
export const MAYBE_FILED: readonly AttemptVerdict[] = ['marked', 'accepted'];

/** A submission of a filing. */
export interface SubmissionKey {
  filingId: string;
  submission: number;
}

export interface AttemptReading {
  /** Null: the ledger does not hold the attempt, so that its outcome is unknown. */
  verdict: AttemptVerdict | null;
  /** Whether an answer may still come: its exchange is not known to be over. */
  underWay: boolean;
  reason: string | null;
  answer: StoredAnswer | null;
  /** The attempt that was accepted. If a submission has two attempts, a late answer may belong to the other one. */
  attemptId: string;
  /** When it was marked as being sent, ms since the epoch; null: never, as far as the ledger knows. */
  markedAt: number | null;
  /** HTTP time-out of the process that marked it, ms; null where it is not known. */
  timeoutMs: number | null;
  /** Whether its filing has ended: then nothing more of it is sent, whatever the outcome of the attempt. */
  filingEnded: boolean;
}

/** Why an attempt may not be sent; `look`: certificates have to be looked at first. */
export type MarkRefusal = 'gone' | 'closed' | 'ended' | 'unapproved' | 'rows' | 'other_attempt' | 'unchecked' | 'look';

/** The id of an attempt, derived from business keys. */
export function attemptIdOf(filingId: string, submission: number, number: number): string {
  return `${filingId}-${submission}-${number}`;
}

/** The parts of an attempt's id. @throws RangeError for a text that is none */
export function partsOfAttemptId(attemptId: string): SubmissionKey & { number: number } {
  const [, filingId, submission, number] = /^(.+)-(\d+)-(\d+)$/u.exec(attemptId) ?? [];
  if (!filingId) throw new RangeError(`${attemptId} is not the id of an attempt.`);
  return { filingId, submission: Number(submission), number: Number(number) };
}

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
