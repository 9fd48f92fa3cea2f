/** What a filing's run moves by: moves, what ends its work from outside, and overdue marks. */
import type { MoveArgs } from '../../activities/filings/moves';
import type { FilingState } from '../../domain/filing/states';

export type Event = MoveArgs['event'];

export interface Attention {
  attention?: string | null;
  /** For states that need nobody as such, but do now. */
  needsAttention?: boolean;
  /** What the filing then waits for on purpose, and for how long beyond what its state explains. */
  wait?: { for: string; ms: number };
  /** The time of its state is over, and somebody is asked. */
  late?: boolean;
}

/** A move as the ledger records it; `dueAt` in ms since the epoch. */
export type Move = MoveArgs & { needsAttention: boolean; dueAt: number | null; waitsFor: string | null };

/** What several questions say, in one text. */
export const inOneText = (...texts: (string | null)[]): string | null => texts.filter(Boolean).join(' ') || null;

/**
 * A state's time runs from when the filing came to it, save the first look of a wait on purpose.
 * @param limitMs how long the next state explains itself; null: it waits for a person
 */
export function deadlineOf(
  held: Pick<Move, 'state' | 'dueAt' | 'waitsFor'> & { late: string | null },
  next: FilingState,
  limitMs: number | null,
  { wait, late = false }: Attention,
): Pick<Move, 'dueAt' | 'waitsFor'> {
  const { state, dueAt, waitsFor } = held;
  if (limitMs === null) return { dueAt: null, waitsFor: null };
  if (late) return { dueAt: null, waitsFor };
  const runs = held.late !== null || (dueAt !== null && (!wait || wait.for === waitsFor));
  if (next === state && runs) return { dueAt, waitsFor };
  const from = Date.now() + limitMs + (wait?.ms ?? 0);
  return { dueAt: next === state && dueAt !== null ? Math.max(dueAt, from) : from, waitsFor: wait?.for ?? null };
}

/** A person gave the filing up, or cancelled it before anything was sent. */
export class FilingGivenUp extends Error {
  override readonly name = 'FilingGivenUp';
}

/** The ledger holds other moves than this run (a reset, another run): it reads the filing again and goes on. */
export class FilingMovedOn extends Error {
  override readonly name: string = 'FilingMovedOn';
}

/** The filing has ended in the ledger: another run ended it, and its recorded outcome stands. */
export class FilingEnded extends FilingMovedOn {
  override readonly name: string = 'FilingEnded';
}

/** A mark past which a filing is overdue; its watchdog's timer looks at it (see watchdog.ts). */
export interface OverdueMark {
  /** ms since the epoch. */
  at: number;
  summary: string;
  /** The state that a filing is overdue in; in a pause the mark waits until the filing is back in it. */
  during: FilingState;
  text: string;
  attention: string;
  /** The move that the watchdog makes past it. */
  made?: Promise<void> | null;
}

/** Does work that may take days; past the mark the filing needs attention, and the work goes on. */
export async function untilOverdue<T>(
  run: { overdueMark: OverdueMark | null },
  mark: OverdueMark,
  work: () => Promise<T>,
): Promise<T> {
  run.overdueMark = mark;
  try {
    return await work();
  } finally {
    run.overdueMark = null;
    // A failure of the move is thrown here, at the end of the work.
    await mark.made;
  }
}
