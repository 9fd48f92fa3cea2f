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

/** Events because of which a filing needs attention until it is resolved, whatever follows. */
const ACCEPTED_UNEXPECTEDLY = ['accepted_twice', 'accepted_after_end'];
/** As these, from the gates: what a record, a certificate or a refusal contradicts. */
const CONTRADICTIONS = [
  'certificate_contradicted',
  'refused_after_absent',
  'request_taken',
  'upload_mismatch',
] as const;

/**
 * Stores the acceptance of an attempt, whatever its verdict; repeating it changes nothing. In a transaction.
 * @param sentBy the secret of whoever read the answer, where a run hands it in; left out by the execution itself
 * @returns null where the ledger has no acceptance, and nobody with that secret has sent the attempt
 */
export async function storeAnswer(
  client: Queryable,
  { attemptId, answer, sentBy, at }: { attemptId: string; answer: StoredAnswer; sentBy?: string; at: Date },
): Promise<{
  /** The filing's run no longer waits for the call that brought the answer. */
  late: boolean;
  fresh: boolean;
  /** As it is stored: what travelled may be a sample of it. */
  answer: StoredAnswer;
  filing: LockedFiling;
} | null> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const attempts = await lockAttempts(client, filingId, submission);
  const own = attempts.find((row) => row.attemptId === attemptId);
  // The answer is already stored, and its consequence may have judged the attempt since.
  const known = own?.answer?.kind === answer.kind && own.answer.requestId === answer.requestId;
  if (known || answer.kind !== 'accepted') return { late: false, fresh: false, answer: own?.answer ?? answer, filing };
  if (sentBy !== undefined && !(await hasSent(client, attemptId, senderOf(sentBy))))
    return own?.answer?.kind === 'accepted' ? { late: false, fresh: false, answer: own.answer, filing } : null;
  const late = own?.verdict !== 'marked' || filing.state !== 'submitting';
  await acceptAttempt(client, { attemptId, attempts, answer, late, at });
  const sent = attempts.filter((row) => row.attemptId !== attemptId && MAYBE_FILED.includes(row.verdict));
  if (sent.length > 0 || (filing.ended && own?.verdict !== 'marked')) {
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

/** Asks a person, once for each `key`, to look at what contradicts the ledger, whatever becomes of the filing. */
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

/** What was ever reported of a filing as in contradiction, oldest first. */
export async function readLastingNotices(db: Queryable, filingId: string): Promise<{ kind: string; text: string }[]> {
  const { rows } = await db.query<{ kind: string; text: string }>(
    'SELECT kind, text FROM filing_events WHERE filing_id = $1 AND kind = ANY($2) ORDER BY event_id',
    [filingId, [...ACCEPTED_UNEXPECTEDLY, ...CONTRADICTIONS]],
  );
  return rows;
}

/** The complete newest refusal of a submission, with every complaint; null if none is stored. */
export async function lastRefusal(db: Queryable, filingId: string, submission: number): Promise<StoredAnswer | null> {
  const { rows } = await db.query<{ answer: StoredAnswer }>(
    `SELECT answer FROM attempts WHERE filing_id = $1 AND submission = $2 AND verdict = 'refused' AND answer IS NOT NULL
      ORDER BY number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0]?.answer ?? null;
}

/** The states of a filing of which a submission is still to be acknowledged. */
const UNACKNOWLEDGED: readonly FilingState[] = ['checking', 'awaiting_approval', 'submitting', 'outcome_unknown'];

/**
 * Moves the rows of a stored acceptance on, and the filing to its processing where nothing else of it is to be sent or
 * in doubt. Repeating it changes nothing. Under the filing's lock.
 */
export async function acknowledge(
  client: Queryable,
  filing: LockedFiling,
  args: {
    attemptId: string;
    /** As it is stored; an answer that is not stored acknowledges nothing. */
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
  // A pause of a filing that is being processed already is not over with another acceptance.
  const waits = UNACKNOWLEDGED.includes(state) || (fresh && isPause(state));
  if (!waits || phaseOf(await readFacts(client, filingId)) !== 'follow') return readNow(client, filingId);
  const first = { kind: 'submitting', text: `attempt ${attemptId} was sent before the filing came to it` };
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
