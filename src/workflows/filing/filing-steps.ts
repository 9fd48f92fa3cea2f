/** Steps on the ledger as a filing's run makes them. */
import { ActivityFailure, log, type ActivityInterfaceFor } from '@temporalio/workflow';
import type { Activities } from '../../activities/create-activities';
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

/** Writes a line of a filing's story. */
export function noteEvent(filingId: string, event: Event): Promise<void> {
  return tryTo(() => steps({ summary: event.kind, profile: 'note' }).noteEvent({ filingId, ...event }));
}

/** Says in the ledger what is wrong with a filing's workflow. */
export function tellRunProblem(filingId: string, problem: string): Promise<void> {
  return tryTo(() =>
    steps({ summary: 'Record the workflow failure', profile: 'note' }).tellRunProblem({ filingId, problem }),
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
