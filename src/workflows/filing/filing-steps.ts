/** Parts of a filing's moves: attention and deadlines, the errors that end a run's work, and overdue marks. */
import type { FilingNow, MoveArgs } from '../../activities/filings/moves';
import type { FilingState } from '../../domain/filing/states';

export type Event = MoveArgs['event'];

export interface Attention {
  attention?: string | null;
  /** Asks for attention in a state that normally needs none. */
  needsAttention?: boolean;
  /** A planned wait, and for how long it extends the state's deadline. */
  wait?: { for: string; ms: number };
  /** The state is past its deadline, and somebody is asked. */
  late?: boolean;
}

export const inOneText = (...texts: (string | null)[]): string | null => texts.filter(Boolean).join(' ') || null;

/**
 * The next state's deadline. It runs from when the filing entered the state; a new planned wait starts it again.
 * @param limitMs how long a filing may stay in the next state without attention; null: it waits for a person
 */
export function deadlineOf(
  held: Pick<FilingNow, 'state' | 'dueAt' | 'waitsFor' | 'late'>,
  next: FilingState,
  limitMs: number | null,
  { wait, late = false }: Attention,
): Pick<FilingNow, 'dueAt' | 'waitsFor'> {
  const { state, dueAt, waitsFor } = held;
  if (limitMs === null) return { dueAt: null, waitsFor: null };
  if (late) return { dueAt: null, waitsFor };
  const runs = held.late !== null || (dueAt !== null && (!wait || wait.for === waitsFor));
  if (next === state && runs) return { dueAt, waitsFor };
  const from = Date.now() + limitMs + (wait?.ms ?? 0);
  return { dueAt: next === state && dueAt !== null ? Math.max(dueAt, from) : from, waitsFor: wait?.for ?? null };
}

/** Somebody gave the filing up, or cancelled it before anything was sent. */
export class FilingGivenUp extends Error {
  override readonly name = 'FilingGivenUp';
}

/** The ledger holds other moves than this run (a reset, another run), which reads the filing again and continues. */
export class FilingMovedOn extends Error {
  override readonly name = 'FilingMovedOn';
}

/** When a filing becomes overdue; the watchdog's timer checks it (see watchdog.ts). */
export interface OverdueMark {
  /** ms since the epoch. */
  at: number;
  summary: string;
  /** The state in which the filing can become overdue; in a pause the mark waits until the filing returns to it. */
  during: FilingState;
  text: string;
  attention: string;
  /** The watchdog's move to `overdue`, once it is being made. */
  made?: Promise<void> | null;
}

/** Does work that may take days. Past the mark the filing needs attention while the work continues. */
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
    // Throws the failure of the watchdog's move.
    await mark.made;
  }
}
