/** What a filing's run moves by: moves with their deadlines, what ends its work from outside, and overdue marks. */
import { ActivityFailure, log } from '@temporalio/workflow';
import type { MoveArgs } from '../../activities/filings/moves';
import type { FilingCounts } from '../../domain/contracts';
import { type FilingState, needsAttention, stateLimitMs, type StateLimitSettings } from '../../domain/filing/states';
import { steps } from '../activity-profiles';

export interface Event {
  kind: string;
  text: string;
  who?: string;
  data?: unknown;
}

export interface Attention {
  /** What a person should know or do. */
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

interface MovingFiling {
  /** Null: the filing waits for a person, or somebody was asked because the time is over (`late`). */
  dueAt: number | null;
  waitsFor: string | null;
  late: string | null;
  filingId: string;
  state: FilingState;
  seq: number;
  settings: StateLimitSettings;
  counts: FilingCounts;
}

/** A move of a filing, with when the next one is due and whether somebody should look at it. */
export function toMove(held: MovingFiling, state: FilingState, event: Event, asked: Attention): Move {
  const { filingId, seq } = held;
  const { attention = null, late = false } = asked;
  return {
    filingId,
    seq,
    state,
    attention,
    needsAttention: late || (asked.needsAttention ?? needsAttention(state)),
    ...deadlineOf(held, state, asked),
    event,
  };
}

/** A state's time runs from when the filing came to it, save the first look of a wait on purpose. */
function deadlineOf(
  held: MovingFiling,
  state: FilingState,
  { wait, late = false }: Attention,
): Pick<Move, 'dueAt' | 'waitsFor'> {
  const { settings, counts, dueAt, waitsFor } = held;
  const explained = stateLimitMs(state, settings, counts.certified);
  const same = state === held.state;
  if (explained === null) return { dueAt: null, waitsFor: null };
  if (late) return { dueAt: null, waitsFor };
  if (same && (held.late !== null || (dueAt !== null && (!wait || wait.for === waitsFor)))) return { dueAt, waitsFor };
  const from = Date.now() + explained + (wait?.ms ?? 0);
  return { dueAt: same && dueAt !== null ? Math.max(dueAt, from) : from, waitsFor: wait?.for ?? null };
}

/** Records an event of a filing. */
export function noteEvent(filingId: string, event: Event): Promise<void> {
  return tryTo(() => steps({ summary: event.kind, profile: 'note' }).noteEvent({ filingId, ...event }));
}

/** Says in the ledger what is wrong with a filing's workflow. */
export function recordRunProblem(filingId: string, problem: string): Promise<void> {
  return tryTo(() =>
    steps({ summary: 'Record the workflow failure', profile: 'note' }).recordRunProblem({ filingId, problem }),
  );
}

/** Makes a write that only helps: where it cannot be made for a while, the filing goes on. */
async function tryTo(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn('what only helps could not be written', { error });
  }
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
  /** Shown beside the timer. */
  summary: string;
  /** The state that a filing is overdue in; in a pause the mark waits until the filing is back in it. */
  during: FilingState;
  text: string;
  attention: string;
}

export interface PendingMark extends OverdueMark {
  /** The move that the watchdog makes past it; null before. */
  made: Promise<void> | null;
}

/** Does work that may take days; past the mark the filing needs attention, and the work goes on. */
export async function untilOverdue<T>(
  run: { overdueMark: PendingMark | null },
  mark: OverdueMark,
  work: () => Promise<T>,
): Promise<T> {
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
