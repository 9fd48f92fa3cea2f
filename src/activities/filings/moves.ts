/** Moves of a filing, recorded in the transaction of the step that causes them. */
import type { FilingCounts } from '../../domain/contracts';
import { recordProgress, type ProgressNote } from '../../ledger/filings/filing-progress';
import type { Queryable } from '../../ledger/pool';
import { countRows } from '../../ledger/rows/filing-rows';
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
}

/** A move that the ledger has numbered by itself, for the run to take over; `dueAt` in ms since the epoch. */
export interface MovedOn {
  seq: number;
  dueAt: number;
  counts: FilingCounts;
}

export const NOT_MOVED: Moved = { differs: false, counts: null };

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
  return recorded === 'differs'
    ? { differs: true, counts: null }
    : { differs: false, counts: await countRows(client, move.filingId) };
}
