/** Marks past which a filing is overdue; its watchdog's timer looks at them (see watchdog.ts). */
import type { FilingState } from '../../domain/filing/states';

export interface OverdueMark {
  /** ms since the epoch. */
  at: number;
  /** Shown beside the timer. */
  summary: string;
  /** The state that a filing is overdue in; in a pause the mark waits until the filing is back in it. */
  during: FilingState;
  text: string;
  attention: string;
}

/** The mark of the work under way. */
export interface PendingMark extends OverdueMark {
  /** The move that the watchdog makes past it; null before. */
  made: Promise<void> | null;
}

/** A run as far as a mark needs it. */
interface MarkedRun {
  overdueMark: PendingMark | null;
}

/** Does work that may take days; past the mark the filing needs attention, and the work goes on. */
export async function untilOverdue<T>(run: MarkedRun, mark: OverdueMark, work: () => Promise<T>): Promise<T> {
  const pending: PendingMark = { ...mark, made: null };
  run.overdueMark = pending;
  try {
    return await work();
  } finally {
    run.overdueMark = null;
    // A failure of the move is thrown here, at the end of the work.
    await pending.made;
  }
}
