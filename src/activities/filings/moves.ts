/** Moves of a filing, recorded in the transaction of the step that causes them. */
import type { FilingCounts } from '../../domain/contracts';
import { endNote } from '../../domain/filing/end-note';
import { COLLECTING_NOTE } from '../../domain/filing/move-notes';
import { phaseOf } from '../../domain/filing/moves';
import { stateLimitMs, type StateLimitSettings } from '../../domain/filing/state-limits';
import type { FilingState } from '../../domain/filing/states';
import { readFacts } from '../../ledger/filings/filing-facts';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { moveOn, recordProgress, type ProgressNote } from '../../ledger/filings/filing-progress';
import type { Queryable } from '../../ledger/pool';
import { countRows } from '../../ledger/rows/filing-rows';
import { readStanding } from '../../ledger/questions/questions';
import { refusal } from '../application-failure';
import { stepId } from '../step-id';

/** A move of a filing; `dueAt` in ms since the epoch. */
export type MoveArgs = Omit<ProgressNote, 'at' | 'dueAt'> & { dueAt?: number | null };

/** What became of a move. */
export interface Moved {
  /** The ledger holds other moves than the run: the move was not recorded. */
  differs: boolean;
  /** The rows as they stand after the move; null where none was recorded. */
  counts: FilingCounts | null;
  /** What facts ask about the filing; left out where no move was recorded. */
  standing?: string | null;
}

/** A move that the ledger has numbered by itself, for the run to take over; `dueAt` in ms since the epoch. */
export interface MovedOn {
  seq: number;
  dueAt: number;
  counts: FilingCounts;
  standing: string | null;
}

/** The states from which a filing goes on to its certificates once all rows have their outcome. */
const UNSETTLED: readonly FilingState[] = ['processing', 'overdue', 'outcome_unknown'];

export const NOT_MOVED: Moved = { differs: false, counts: null };
/** The filing has moved since its run decided on the step: nothing is written. */
export const MOVED_ELSEWHERE: Moved = { differs: true, counts: null };

/**
 * Records a move in one transaction with what causes it, which `writeCause` writes: neither is seen without the other,
 * and a repeated step writes neither. A state that does not follow fails for good: it is a defect, and no repeat mends
 * it.
 */
export async function recordMove(
  client: Queryable,
  { dueAt, ...move }: MoveArgs,
  at: Date,
  writeCause?: () => Promise<void>,
): Promise<Moved> {
  const due = typeof dueAt === 'number' ? new Date(dueAt) : null;
  const note = { step: stepId(), ...move, dueAt: due, at };
  const recorded = await recordProgress(client, note, writeCause).catch((error: unknown) => {
    throw error instanceof RangeError ? refusal('unexpected', error.message) : error;
  });
  if (recorded === 'differs') return MOVED_ELSEWHERE;
  const { filingId } = move;
  return { differs: false, counts: await countRows(client, filingId), standing: await readStanding(client, filingId) };
}

/**
 * Moves a filing on to the collection of its certificates, in the transaction that settles its last submission.
 * Repeated by the same activity, it returns the same. Null where another submission has no outcome yet, or the filing
 * stands elsewhere.
 */
export async function moveOnSettled(
  client: Queryable,
  settings: StateLimitSettings,
  { filingId, at }: { filingId: string; at: Date },
): Promise<MovedOn | null> {
  if (phaseOf(await readFacts(client, filingId)) !== 'collect') return null;
  const counts = await countRows(client, filingId);
  const limitMs = stateLimitMs('collecting', settings, counts.rows) ?? 0;
  const moved = await moveOn(client, {
    filingId,
    from: UNSETTLED,
    step: `${stepId()}/settled`,
    state: 'collecting',
    attention: null,
    dueAt: new Date(at.getTime() + limitMs),
    at,
    event: COLLECTING_NOTE,
  });
  const standing = await readStanding(client, filingId);
  return moved && { seq: moved.seq, dueAt: moved.at.getTime() + limitMs, counts, standing };
}

/** A step that a run decided on when it knew of `seq` moves of the filing. */
export interface Held {
  filingId: string;
  seq: number;
}

/** What a step left of a filing that it may end. */
export interface FilingEnd {
  /** The ledger holds other moves than the run: nothing was written. */
  differs: boolean;
  /** What the filing has ended as; null while it goes on. */
  state: FilingState | null;
  counts: FilingCounts;
  /** Number of the filing's last move. */
  seq: number;
  /** What facts ask about it, whether it has ended or not. */
  standing?: string | null;
}

/** Records the end of a filing, or, with `state` null, that it goes on. */
export async function recordEnd(
  client: Queryable,
  { filingId, seq, state, event: own }: Held & { state: FilingState | null; event?: MoveArgs['event'] },
  at: Date,
): Promise<FilingEnd> {
  const counts = await countRows(client, filingId);
  if (state === null) return { differs: false, state, counts, seq };
  const { event, attention } = endNote(filingId, state, counts);
  const move = { filingId, seq: seq + 1, state, attention, event: own ?? event };
  const { differs, standing } = await recordMove(client, move, at);
  const recorded = await lockFiling(client, filingId);
  return { differs, state, counts, seq: recorded?.seq ?? seq, standing };
}
