/** What follows of an accepted answer: its submission is acknowledged, and the filing is being processed. */
import { partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import { phaseOf } from '../../domain/filing/moves';
import { processingNote } from '../../domain/filing/move-texts';
import { isPause, mayFollow, type FilingState } from '../../domain/filing/states';
import { readFacts, type LockedFiling } from '../filings/filing-lock';
import { moveHeld, readNow, type FilingNow } from '../filings/filing-progress';
import type { Queryable } from '../pool';
import { moveRows } from '../rows/filing-rows';

/** The states of a filing of which a submission is still to be acknowledged. */
const UNACKNOWLEDGED: readonly FilingState[] = ['checking', 'awaiting_approval', 'submitting', 'outcome_unknown'];

interface StoredAcknowledgement {
  attemptId: string;
  /** As it is stored; an answer that is not stored acknowledges nothing. */
  answer: StoredAnswer;
  /** Whether it was stored now, and not before. */
  fresh: boolean;
  /** When the next move is due, in ms after this one. */
  dueInMs?: number | null;
  at: Date;
}

/**
 * Moves the rows of a stored acceptance on and, where nothing else of the filing is to be sent or in doubt, moves
 * the filing on to its processing. Nothing changes in a filing that has ended. Repeating it changes nothing. Must run
 * in a transaction that holds the filing's lock.
 * @returns the filing in its processing, now or since before; null where it is elsewhere
 */
export async function acknowledge(
  client: Queryable,
  filing: LockedFiling,
  { attemptId, answer, fresh, dueInMs = null, at }: StoredAcknowledgement,
): Promise<FilingNow | null> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const { state } = filing;
  if (filing.ended) return null;
  if (fresh) await moveRows(client, { filingId, submission, state: 'submitted' });
  // A pause of a filing that is being processed already is not over with another acceptance.
  const waits = UNACKNOWLEDGED.includes(state) || (fresh && isPause(state));
  if (!waits || phaseOf(await readFacts(client, filingId)) !== 'follow')
    return state === 'processing' ? readNow(client, filingId) : null;
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
