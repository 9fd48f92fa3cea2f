import { MAYBE_FILED, partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import { type LockedFiling, lockFiling, readFacts } from '../filings/filing-lock';
import { FilingMissing } from '../filings/filings';
import { readNow, type FilingNow } from '../filings/filing-now';
import { addEvent } from '../filings/filing-notes';
import { moveHeld } from '../filings/filing-progress';
import { askAbout } from '../questions/questions';
import { senderOf } from '../sends/send-record';
import { lockAttempts, type AttemptRow } from '../gates/attempts';
import { acceptAttempt } from '../gates/release';
import type { Queryable } from '../pool';
import { phaseOf } from '../../domain/filing/run-judgement';
import { processingNote } from '../../domain/filing/move-texts';
import { isPause, mayFollow, type FilingState } from '../../domain/filing/states';
import { moveRows } from '../rows/filing-rows';

/** Kinds of events that need attention until they are resolved, whatever follows. */
const ACCEPTED_UNEXPECTEDLY = ['accepted_twice', 'accepted_after_end'];
/** More of these kinds, reported with {@link reportContradiction}. */
const CONTRADICTIONS = [
  'certificate_contradicted',
  'refused_after_absent',
  'request_taken',
  'upload_mismatch',
] as const;

/**
 * Stores the acceptance of an attempt, whatever its verdict; repeating it changes nothing. Requires a transaction.
 * @param sentBy the secret of the execution that read the answer, if a run hands it in
 * @returns null if the ledger has no acceptance, and no sender with that secret has sent the attempt
 */
export async function storeAnswer(
  client: Queryable,
  { attemptId, answer, sentBy, at }: { attemptId: string; answer: StoredAnswer; sentBy?: string; at: Date },
): Promise<{
  /** The filing's run no longer waits for the call that brought the answer. */
  late: boolean;
  fresh: boolean;
  /** The stored answer; the one that was passed may be abridged. */
  answer: StoredAnswer;
  filing: LockedFiling;
} | null> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const attempts = await lockAttempts(client, filingId, submission);
  const attempt = attempts.find((row) => row.attemptId === attemptId);
  // The answer is stored already, and the attempt may have been judged since because of it.
  const isStored = attempt?.answer?.kind === answer.kind && attempt.answer.requestId === answer.requestId;
  if (isStored || answer.kind !== 'accepted')
    return { late: false, fresh: false, answer: attempt?.answer ?? answer, filing };
  if (sentBy !== undefined && !(await hasSent(client, attemptId, senderOf(sentBy))))
    return attempt?.answer?.kind === 'accepted' ? { late: false, fresh: false, answer: attempt.answer, filing } : null;
  const late = attempt?.verdict !== 'marked' || filing.state !== 'submitting';
  await acceptAttempt(client, { attemptId, attempts, answer, late, at });
  const sent = attempts.filter((row) => row.attemptId !== attemptId && MAYBE_FILED.includes(row.verdict));
  if (sent.length > 0 || (filing.ended && attempt?.verdict !== 'marked')) {
    const [kind, text] =
      sent.length > 0
        ? (['accepted_twice', acceptedTwice(attemptId, answer, sent)] as const)
        : (['accepted_after_end', acceptedAfterEnd(attemptId, answer)] as const);
    await askAbout(client, { filingId, kind, text, until: 'fact', key: attemptId, attemptId, at });
    const data = { attemptId, requestId: answer.requestId ?? null };
    await addEvent(client, { filingId, at, kind, text, data });
  }
  return { late, fresh: true, answer, filing };
}

async function hasSent(client: Queryable, attemptId: string, sender: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM sends WHERE attempt_id = $1 AND sender = $2', [
    attemptId,
    sender,
  ]);
  return rowCount !== 0;
}

function acceptedTwice(attemptId: string, { requestId }: StoredAnswer, sent: readonly AttemptRow[]): string {
  const others = sent.map((other) =>
    other.answer?.kind === 'accepted'
      ? `attempt ${other.attemptId} as request ${other.answer.requestId ?? 'without an id'}`
      : `attempt ${other.attemptId}, which was sent too and has no answer yet`,
  );
  return (
    `The submission may have been accepted twice: attempt ${attemptId} as request ${requestId ?? 'without an id'}, ` +
    `and ${others.join(', and ')}. Look at the portal, and have one of them cancelled there.`
  );
}

const acceptedAfterEnd = (attemptId: string, { requestId }: StoredAnswer): string =>
  `The service accepted attempt ${attemptId} as request ${requestId ?? 'without an id'} although the ` +
  'filing had ended: certificates may come of it. Its rows are live again, so that nothing files them a second time.';

/** Asks a person, once per `key`, to look at a contradiction; the question stays whatever becomes of the filing. */
export async function reportContradiction(
  client: Queryable,
  args: {
    filingId: string;
    kind: (typeof CONTRADICTIONS)[number];
    key: string;
    text: string;
    data?: unknown;
    at: Date;
  },
): Promise<void> {
  const { filingId, kind, key, text, data, at } = args;
  await addEvent(client, { filingId, step: `${kind}/${key}`, at, kind, text, data });
  await askAbout(client, { filingId, kind, text, until: 'fact', key, at });
}

/** All unexpected acceptances and contradictions of a filing, oldest first. */
export async function readLastingNotices(db: Queryable, filingId: string): Promise<{ kind: string; text: string }[]> {
  const { rows } = await db.query<{ kind: string; text: string }>(
    'SELECT kind, text FROM filing_events WHERE filing_id = $1 AND kind = ANY($2) ORDER BY event_id',
    [filingId, [...ACCEPTED_UNEXPECTEDLY, ...CONTRADICTIONS]],
  );
  return rows;
}

/** The newest refusal of a submission with all its errors; null if none is stored. */
export async function lastRefusal(db: Queryable, filingId: string, submission: number): Promise<StoredAnswer | null> {
  const { rows } = await db.query<{ answer: StoredAnswer }>(
    `SELECT answer FROM attempts WHERE filing_id = $1 AND submission = $2 AND verdict = 'refused' AND answer IS NOT NULL
      ORDER BY number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0]?.answer ?? null;
}

/** States of a filing in which a submission may still lack its acknowledgement. */
const UNACKNOWLEDGED: readonly FilingState[] = ['checking', 'awaiting_approval', 'submitting', 'outcome_unknown'];

/**
 * Moves the rows of a stored acceptance to `submitted`, and the filing to `processing` if nothing else of it is to be
 * sent or in doubt. Repeating it changes nothing. Requires the filing's lock.
 */
export async function acknowledge(
  client: Queryable,
  filing: LockedFiling,
  args: {
    attemptId: string;
    /** The stored answer; one that is not stored acknowledges nothing. */
    answer: StoredAnswer;
    fresh: boolean;
    /** When the next move is due, in ms after this one. */
    dueInMs?: number | null;
    at: Date;
  },
): Promise<FilingNow> {
  const { attemptId, answer, fresh, dueInMs = null, at } = args;
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const { state } = filing;
  if (filing.ended) return readNow(client, filingId);
  if (fresh) await moveRows(client, { filingId, submission, state: 'submitted' });
  // An acceptance that is known already does not end a pause.
  const waits = UNACKNOWLEDGED.includes(state) || (fresh && isPause(state));
  if (!waits || phaseOf(await readFacts(client, filingId)) !== 'follow') return readNow(client, filingId);
  const first = { kind: 'submitting', text: `attempt ${attemptId} was sent before the filing reached this state` };
  const submitting = mayFollow(state, 'processing')
    ? null
    : await moveHeld(client, filing, { state: 'submitting', attention: null, at, event: first });
  return moveHeld(client, submitting ? { ...filing, ...submitting } : filing, {
    state: 'processing',
    attention: null,
    dueAt: dueInMs === null ? null : new Date(at.getTime() + dueInMs),
    at,
    event: { ...processingNote(answer.requestId ?? null), data: { attemptId } },
  });
}
