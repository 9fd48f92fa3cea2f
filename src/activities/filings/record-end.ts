/** The end of a filing, recorded in the transaction of the fact that ends it. */
import type { FilingCounts } from '../../domain/contracts';
import { endNote } from '../../domain/filing/end-note';
import type { FilingState } from '../../domain/filing/states';
import { lockFiling } from '../../ledger/filings/filing-lock';
import type { Queryable } from '../../ledger/pool';
import { countRows } from '../../ledger/rows/filing-rows';
import { recordMove, type MoveArgs } from './moves';

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
