/** Steps on the ledger as a filing's run makes them. */
import { ActivityFailure, log, type ActivityInterfaceFor } from '@temporalio/workflow';
import type { Activities } from '../../activities/create-activities';
import type { MoveArgs } from '../../activities/filings/moves';
import type { FilingCounts } from '../../domain/contracts';
import { isEnd, needsAttention, type FilingState } from '../../domain/filing/states';
import { stateLimitMs, type StateLimitSettings } from '../../domain/filing/state-limits';
import { steps } from '../activity-profiles';
import { isFilingMissing } from '../failures';

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
  /** How long the filing then waits on purpose, beyond what its state explains. */
  waitMs?: number;
}

/** A move as the ledger records it; `dueAt` in ms since the epoch. */
export type Move = MoveArgs & { needsAttention: boolean; dueAt: number | null };

interface Standing {
  filingId: string;
  /** Number of the move. */
  seq: number;
  /** What somebody should look at, whatever the state. */
  standing: string | null;
  settings: StateLimitSettings;
  counts: FilingCounts;
}

/** A move of a filing, with when the next one is due and whether somebody should look at it. */
export function toMove(
  { filingId, seq, standing, settings, counts }: Standing,
  state: FilingState,
  event: Event,
  asked: Attention,
): Move {
  const lasting = isEnd(state) ? null : standing;
  const explained = stateLimitMs(state, settings, counts.certified);
  return {
    filingId,
    seq,
    state,
    attention: [asked.attention, lasting].filter(Boolean).join(' ') || null,
    needsAttention: lasting !== null || (asked.needsAttention ?? needsAttention(state)),
    dueAt: explained === null ? null : Date.now() + explained + (asked.waitMs ?? 0),
    event,
  };
}

/** Steps of which one that fails because the ledger does not hold the filing ends as `onMissing` does. */
export function watched(
  made: ActivityInterfaceFor<Activities>,
  onMissing: () => unknown,
): ActivityInterfaceFor<Activities> {
  return new Proxy(made, {
    get: (_target, name: keyof Activities) => {
      const step = made[name] as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]): Promise<unknown> => {
        try {
          return await step(...args);
        } catch (error) {
          if (!isFilingMissing(error)) throw error;
          return onMissing();
        }
      };
    },
  });
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
