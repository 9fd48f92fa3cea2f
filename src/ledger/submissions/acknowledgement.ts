/** What follows of an accepted answer: its submission is acknowledged, and the filing is being processed. */
import { partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import { phaseOf } from '../../domain/filing/moves';
import { processingNote } from '../../domain/filing/move-notes';
import { isPause, mayFollow, type FilingState } from '../../domain/filing/states';
import { lockFiling, type LockedFiling } from '../filings/filing-lock';
import { readFacts } from '../filings/filing-facts';
import { writeMove } from '../filings/filing-progress';
import type { Queryable } from '../pool';
import { moveRows } from '../rows/filing-rows';

/** The states of a filing of which a submission is still to be acknowledged. */
const UNACKNOWLEDGED: readonly FilingState[] = ['checking', 'awaiting_approval', 'submitting', 'outcome_unknown'];

interface Acknowledgement {
  attemptId: string;
  /** As it is stored; an answer that is not stored acknowledges nothing. */
  answer: StoredAnswer;
  /** Whether it was stored now, and not before. */
  fresh: boolean;
  /** When the next move is due, in ms after this one. */
  dueInMs?: number | null;
  at: Date;
}

interface Acknowledged {
  /** Number of the move that the acceptance caused. */
  seq: number;
  /** When it was made. */
  at: Date;
}

/**
 * Moves the rows of a stored acceptance on and, where nothing else of the filing is to be sent or in doubt, moves
 * the filing on to its processing. Of a filing that has ended nothing changes. Repeating it changes nothing. Must run
 * in a transaction.
 * @returns the move that the acceptance caused, now or before; null: none
 */
export async function acknowledge(client: Queryable, acknowledgement: Acknowledgement): Promise<Acknowledged | null> {
  const { attemptId, fresh } = acknowledgement;
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing || filing.ended) return null;
  if (fresh) await moveRows(client, { filingId, submission, state: 'submitted' });
  // A pause of a filing that is being processed already is not over with another acceptance.
  const waits = UNACKNOWLEDGED.includes(filing.state) || (fresh && isPause(filing.state));
  if (!waits || phaseOf(await readFacts(client, filingId)) !== 'follow') return moveOf(client, filingId, attemptId);
  return moveToProcessing(client, filing, acknowledgement);
}

async function moveToProcessing(
  client: Queryable,
  { filingId, state, seq }: LockedFiling,
  { attemptId, answer, dueInMs = null, at }: Acknowledgement,
): Promise<Acknowledged> {
  let last = seq;
  if (!mayFollow(state, 'processing')) {
    last += 1;
    const event = { kind: 'submitting', text: `attempt ${attemptId} was sent before the filing came to it` };
    await writeMove(client, { filingId, seq: last, state: 'submitting', attention: null, at, event });
  }
  await writeMove(client, {
    filingId,
    seq: last + 1,
    state: 'processing',
    attention: null,
    dueAt: dueInMs === null ? null : new Date(at.getTime() + dueInMs),
    at,
    event: { ...processingNote(answer.requestId ?? null), data: { attemptId } },
  });
  return { seq: last + 1, at };
}

/** The move that an earlier take-over of the same acceptance made, or null. */
async function moveOf(client: Queryable, filingId: string, attemptId: string): Promise<Acknowledged | null> {
  const { rows } = await client.query<Acknowledged>(
    `SELECT seq::int AS seq, at FROM filing_events
      WHERE filing_id = $1 AND state = 'processing' AND kind = 'processing' AND data ->> 'attemptId' = $2
      ORDER BY seq DESC LIMIT 1`,
    [filingId, attemptId],
  );
  return rows[0] ?? null;
}
