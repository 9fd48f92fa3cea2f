import { partsOfAttemptId, type AttemptState, type StoredAnswer } from '../../domain/filing/attempt';
import { lockFiling, type LockedFiling } from '../filings/filing-lock';
import { FilingMissing } from '../filings/filing-missing';
import { addEvent } from '../filings/filing-progress';
import type { Queryable } from '../pool';
import { holdAsSent } from '../rows/row-revival';

/** Events because of which a filing needs attention until it is resolved, whatever follows. */
const ACCEPTED_UNEXPECTEDLY = ['accepted_twice', 'accepted_after_end'] as const;

interface Standing {
  attemptId: string;
  state: AttemptState;
  answer: StoredAnswer | null;
  markedAt: Date | null;
}

/**
 * Stores the answer to an attempt, whatever its state: even a late answer removes every doubt. If an attempt that had
 * been closed was accepted, the other, open attempt of the submission is closed so that it is not sent again, and rows
 * that had been freed are taken back. If another attempt was sent as well, the filing asks for attention. Repeating it
 * changes nothing. Must run in a transaction.
 * @returns whether the answer is late: the filing's run no longer waits for the call that brought it
 */
export async function storeAnswer(
  client: Queryable,
  { attemptId, answer, at }: { attemptId: string; answer: StoredAnswer; at: Date },
): Promise<{ late: boolean }> {
  const { filingId, submission, number } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const { rows } = await client.query<Standing>(
    `SELECT attempt_id AS "attemptId", state, answer, sending_at AS "markedAt" FROM attempts
      WHERE filing_id = $1 AND submission = $2 ORDER BY number FOR UPDATE`,
    [filingId, submission],
  );
  const own = rows.find((row) => row.attemptId === attemptId);
  if (own?.state === 'answered') return { late: false };
  // The answer is already stored, and its consequence has closed the attempt since.
  if (own?.state === 'not_sent' && own.answer?.kind === answer.kind && own.answer.requestId === answer.requestId)
    return { late: false };
  const late = own?.state !== 'sending' || filing.state !== 'submitting';
  const others = rows.filter((row) => row.attemptId !== attemptId);
  if (answer.kind === 'accepted' && others.some(({ state }) => state === 'open')) {
    await client.query(
      `UPDATE attempts SET state = 'not_sent', reason = $3, closed_at = $4
        WHERE filing_id = $1 AND submission = $2 AND attempt_id <> $5 AND state = 'open'`,
      [filingId, submission, `attempt ${attemptId} was accepted after all`, at, attemptId],
    );
  }
  const sent = others.filter(({ state }) => state === 'sending' || state === 'answered');
  // An attempt that is missing because the ledger was restored to an earlier state is recorded together with its
  // answer.
  await client.query(
    `INSERT INTO attempts AS a (attempt_id, filing_id, submission, number, state, answer, answer_status, answered_at, late)
     VALUES ($1, $2, $3, $4, 'answered', $5, $6, $7, $8)
     ON CONFLICT (attempt_id) DO UPDATE SET state = 'answered', answer = $5, answer_status = $6, answered_at = $7,
       late = $8, reason = NULL WHERE a.state <> 'answered'`,
    [attemptId, filingId, submission, number, JSON.stringify(answer), answer.status ?? null, at, sent.length > 0],
  );
  if (answer.kind !== 'accepted') return { late };
  if (own?.state !== 'sending') await holdAsSent(client, { filingId, submission, sentAt: own?.markedAt ?? at, at });
  const told = { filing, attemptId, answer, at };
  if (sent.length > 0) await reportAcceptedTwice(client, { ...told, sent });
  else if (filing.ended && own?.state !== 'sending') await reportLateAcceptance(client, told);
  return { late };
}

interface Told {
  filing: LockedFiling;
  attemptId: string;
  answer: StoredAnswer;
  at: Date;
}

async function reportAcceptedTwice(client: Queryable, { sent, ...told }: Told & { sent: Standing[] }): Promise<void> {
  const { attemptId, answer } = told;
  const others = sent.map((other) =>
    other.answer?.kind === 'accepted'
      ? `attempt ${other.attemptId} as request ${other.answer.requestId ?? 'without an id'}`
      : `attempt ${other.attemptId}, which was sent too and has no answer yet`,
  );
  await tell(client, {
    ...told,
    kind: 'accepted_twice',
    text:
      `The submission may have been accepted twice: attempt ${attemptId} as request ${answer.requestId ?? 'without an id'}, ` +
      `and ${others.join(', and ')}. Look at the portal, and have one of them cancelled there.`,
  });
}

async function reportLateAcceptance(client: Queryable, told: Told): Promise<void> {
  await tell(client, {
    ...told,
    kind: 'accepted_after_end',
    text:
      `The service accepted attempt ${told.attemptId} as request ${told.answer.requestId ?? 'without an id'} although the ` +
      'filing had ended: certificates may come of it. Its rows are live again, so that nothing files them a second time.',
  });
}

async function tell(
  client: Queryable,
  { filing, answer, attemptId, at, kind, text }: Told & { kind: (typeof ACCEPTED_UNEXPECTEDLY)[number]; text: string },
): Promise<void> {
  await client.query('UPDATE filings SET needs_attention = true, attention = $2 WHERE filing_id = $1', [
    filing.filingId,
    text,
  ]);
  const data = { attemptId, requestId: answer.requestId ?? null };
  await addEvent(client, { filingId: filing.filingId, at, kind, text, data });
}

/** What somebody should look at for as long as a filing is under way, and once it has ended, oldest first. */
export async function readLastingNotices(db: Queryable, filingId: string): Promise<{ kind: string; text: string }[]> {
  const { rows } = await db.query<{ kind: string; text: string }>(
    'SELECT kind, text FROM filing_events WHERE filing_id = $1 AND kind = ANY($2) ORDER BY event_id',
    [filingId, ['upload_mismatch', ...ACCEPTED_UNEXPECTEDLY]],
  );
  return rows;
}

/** The same in one text; null if there is nothing. */
export async function readStandingAttention(db: Queryable, filingId: string): Promise<string | null> {
  return (await readLastingNotices(db, filingId)).map(({ text }) => text).join(' ') || null;
}

/** The complete answer to an attempt, of which activities pass only a sample; null if none is stored. */
export async function storedAnswer(db: Queryable, attemptId: string): Promise<StoredAnswer | null> {
  const { rows } = await db.query<{ answer: StoredAnswer | null }>(
    'SELECT answer FROM attempts WHERE attempt_id = $1',
    [attemptId],
  );
  return rows[0]?.answer ?? null;
}

/** The complete newest refusal of a submission, with every complaint; null if none is stored. */
export async function lastRefusal(db: Queryable, filingId: string, submission: number): Promise<StoredAnswer | null> {
  const { rows } = await db.query<{ answer: StoredAnswer }>(
    `SELECT answer FROM attempts WHERE filing_id = $1 AND submission = $2 AND state = 'not_sent' AND answer IS NOT NULL
      ORDER BY number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0]?.answer ?? null;
}
