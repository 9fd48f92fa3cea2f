/** Steps on the ledger as a filing's run makes them. */
import { ActivityFailure, log } from '@temporalio/workflow';
import type { MoveArgs } from '../../activities/filings/moves';
import type { FilingCounts } from '../../domain/contracts';
import { needsAttention, type FilingState } from '../../domain/filing/states';
import { stateLimitMs, type StateLimitSettings } from '../../domain/filing/state-limits';
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

interface Standing extends Deadline {
  filingId: string;
  state: FilingState;
  /** Number of the move. */
  seq: number;
  settings: StateLimitSettings;
  counts: FilingCounts;
}

/** When the next state is due at the latest, ms since the epoch, and the wait whose own time that includes. */
interface Deadline {
  /** Null: the filing waits for a person, or somebody was asked because the time is over (`late`). */
  dueAt: number | null;
  waitsFor: string | null;
  late: string | null;
}

/** A move of a filing, with when the next one is due and whether somebody should look at it. */
export function toMove(held: Standing, state: FilingState, event: Event, asked: Attention): Move {
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

/**
 * A state has its time from when the filing came to it. Moves within it do not make it longer, save the first look of a
 * wait on purpose: a wait that is looked at again and again ends like every other.
 */
function deadlineOf(
  held: Standing,
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
