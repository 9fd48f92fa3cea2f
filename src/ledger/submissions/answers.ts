import { partsOfAttemptId, type AttemptState, type StoredAnswer } from '../../domain/filing/attempt';
import { lockFiling, type LockedFiling } from '../filings/filing-lock';
import { FilingMissing } from '../filings/filing-missing';
import { addEvent } from '../filings/filing-progress';
import type { Queryable } from '../pool';
import { holdAsSent } from '../rows/row-revival';

/** Events of a filing that keep it in need of attention, whatever follows. */
export const ACCEPTED_UNEXPECTEDLY = ['accepted_twice', 'accepted_after_end'] as const;

interface Standing {
  attemptId: string;
  state: AttemptState;
  answer: StoredAnswer | null;
  markedAt: Date | null;
}

/**
 * Stores the answer to an attempt, whatever its state: an answer that comes late still ends every doubt. An acceptance
 * of an attempt that had been closed closes the open one beside it, so that the submission is not sent again, and takes
 * its rows back where they had been freed; where another attempt was sent as well, the filing asks for attention. Doing
 * it again changes nothing. Must run in a transaction.
 * @returns whether the answer is late: its filing's run does not wait for the call that brought it any more
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
  // The answer was stored, and what came of it closed the attempt since.
  if (own?.state === 'not_sent' && own.answer?.kind === answer.kind && own.answer.requestId === answer.requestId)
    return { late: false };
  const late = own?.state !== 'sending' || filing.state !== 'submitting';
  const others = rows.filter((row) => row.attemptId !== attemptId);
  if (answer.kind === 'accepted') {
    await client.query(
      `UPDATE attempts SET state = 'not_sent', reason = $3, closed_at = $4
        WHERE filing_id = $1 AND submission = $2 AND attempt_id <> $5 AND state = 'open'`,
      [filingId, submission, `attempt ${attemptId} was accepted after all`, at, attemptId],
    );
  }
  const sent = others.filter(({ state }) => state === 'sending' || state === 'answered');
  // An attempt that the ledger has lost (it was put back to an earlier state) is written down with its answer.
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

/** The events about acceptances that nobody expected; null where there are none. */
export async function unexpectedAcceptances(db: Queryable, filingId: string): Promise<string | null> {
  const { rows } = await db.query<{ text: string | null }>(
    `SELECT string_agg(text, ' ' ORDER BY event_id) AS text FROM filing_events WHERE filing_id = $1 AND kind = ANY($2)`,
    [filingId, ACCEPTED_UNEXPECTEDLY],
  );
  return rows[0]?.text ?? null;
}

/** The whole answer to an attempt, of which activities pass only a sample; null where none is stored. */
export async function storedAnswer(db: Queryable, attemptId: string): Promise<StoredAnswer | null> {
  const { rows } = await db.query<{ answer: StoredAnswer | null }>(
    'SELECT answer FROM attempts WHERE attempt_id = $1',
    [attemptId],
  );
  return rows[0]?.answer ?? null;
}

/** The whole of the newest refusal of a submission, with every complaint in it; null where none is stored. */
export async function lastRefusal(db: Queryable, filingId: string, submission: number): Promise<StoredAnswer | null> {
  const { rows } = await db.query<{ answer: StoredAnswer }>(
    `SELECT answer FROM attempts WHERE filing_id = $1 AND submission = $2 AND state = 'not_sent' AND answer IS NOT NULL
      ORDER BY number DESC LIMIT 1`,
    [filingId, submission],
  );
  return rows[0]?.answer ?? null;
}
