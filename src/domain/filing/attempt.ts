/** An attempt to send a submission, as the ledger stores it and workflows and activities pass it on. */
import { cutText } from '../text';

/** The service's answer to a submission, or its refusal: complete, but without secrets. */
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

/** The most entries of each list of an answer that activities and workflows pass on. */
const SAMPLE_ENTRIES = 20;
const SAMPLE_BYTES = 500;

/** An answer, shortened for Temporal's payload limit; the ledger has all of it. */
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
      .map((error) => ({ ...error, field: inShort(error.field), message: cutText(error.message, SAMPLE_BYTES) })),
  };
}

function entryInShort(entry: unknown): unknown {
  if (typeof entry === 'string') return cutText(entry, SAMPLE_BYTES);
  const json = JSON.stringify(entry) ?? '';
  return json.length <= SAMPLE_BYTES ? entry : cutText(json, SAMPLE_BYTES);
}

/**
 * `open`: nothing is written. `marked`: in doubt. `unsent`: proven not to be sent. `refused`: by a documented refusal.
 * `rejected`: its rows are Errored. `absent`: judged as not filed. `accepted`: by the service; may follow any other.
 */
export type AttemptVerdict = 'open' | 'marked' | 'unsent' | 'refused' | 'rejected' | 'absent' | 'accepted';

/** Verdicts after which a submission may be sent again, because nothing of the attempt was filed. */
export const NOT_FILED: readonly AttemptVerdict[] = ['unsent', 'refused', 'absent'];

/** Verdicts of an attempt that is, or may be, at the service. */
export const MAYBE_FILED: readonly AttemptVerdict[] = ['marked', 'accepted'];

/** A submission of a filing. */
export interface SubmissionKey {
  filingId: string;
  submission: number;
}

export interface AttemptReading {
  /** Null: the ledger does not hold the attempt. */
  verdict: AttemptVerdict | null;
  /** Whether an answer may still come, because the exchange is not known to be over. */
  underWay: boolean;
  reason: string | null;
  answer: StoredAnswer | null;
  /** The attempt that this reading is about: after a late answer, the accepted one may be another than asked for. */
  attemptId: string;
  /** When the attempt was marked as being sent, ms since the epoch; null: never, as far as the ledger knows. */
  markedAt: number | null;
  /** HTTP time-out and settle window (ms) of the process that marked the attempt; null if unknown. */
  timeoutMs: number | null;
  settleMs: number | null;
  /** Whether the filing has ended, so that nothing more of it is sent. */
  filingEnded: boolean;
}

/** An attempt's id, derived from business keys. */
export function attemptIdOf(filingId: string, submission: number, number: number): string {
  return `${filingId}-${submission}-${number}`;
}

/** The parts of an attempt's id. @throws RangeError for any other text */
export function partsOfAttemptId(attemptId: string): SubmissionKey & { number: number } {
  const [, filingId, submission, number] = /^(.+)-(\d+)-(\d+)$/u.exec(attemptId) ?? [];
  if (!filingId) throw new RangeError(`${attemptId} is not the id of an attempt.`);
  return { filingId, submission: Number(submission), number: Number(number) };
}

/** A send that a run's history knows; the run passes it to the ledger, which may have been restored from before it. */
export interface KnownSend {
  submission: number;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** When it was marked as being sent, ms since the epoch; null if the history does not contain it. */
  sentAt: number | null;
  /** The request id under which the send is polled; null if its outcome is unknown. */
  requestId: string | null;
  /** Secret of the execution that got the request id from the service; null: a person or the ledger gave the id. */
  sentBy: string | null;
  dgftAckId: string | null;
  ackStatus: string | null;
}

/** Adds a send, replacing the attempt's entry; keeps a known `sentBy` for the same request id. */
export function withSend(sends: readonly KnownSend[], send: KnownSend): KnownSend[] {
  const known = sends.find((other) => isSameAttempt(other, send) && other.requestId === send.requestId);
  const sentBy = send.sentBy ?? known?.sentBy ?? null;
  return [...sends.filter((other) => !isSameAttempt(other, send)), { ...send, sentBy }];
}

/** Removes the entry of an attempt that was not filed after all. */
export function withoutSend(sends: readonly KnownSend[], attemptId: string): KnownSend[] {
  const { submission, number: attempt } = partsOfAttemptId(attemptId);
  return sends.filter((send) => !isSameAttempt(send, { submission, attempt }));
}

const isSameAttempt = (
  send: Pick<KnownSend, 'submission' | 'attempt'>,
  other: Pick<KnownSend, 'submission' | 'attempt'>,
): boolean => send.submission === other.submission && send.attempt === other.attempt;

/** Makes the known send of an attempt. */
export function sentAs(
  attemptId: string,
  known: Pick<KnownSend, 'requestId' | 'sentAt'> & Partial<Pick<KnownSend, 'sentBy' | 'dgftAckId' | 'ackStatus'>>,
): KnownSend {
  const { submission, number } = partsOfAttemptId(attemptId);
  return { sentBy: null, dgftAckId: null, ackStatus: null, ...known, submission, attempt: number };
}
