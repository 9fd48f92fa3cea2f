/** The running activity: its heartbeats, retries of its writes, and the id of its step. */
import { Context } from '@temporalio/activity';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallContext } from '../api/http/call';
import { LedgerUnavailableError } from '../ledger/unavailable';

/** A step on the ledger, or a wait between two checks of the budget, ends well within this. */
const STEP_MS = 60_000;
/** What a call may take beyond its own time-out, on a busy machine. */
const MARGIN_MS = 30_000;

/** Tells whether an activity makes progress: until the step that it began last should have ended. */
export function createProgress(clock: () => number = () => performance.now()) {
  let dueAt = clock() + STEP_MS;
  return {
    isAlive: () => clock() < dueAt,
    /** Reports a step that ends within `ms`. */
    step: (ms = STEP_MS) => {
      dueAt = clock() + Math.max(ms + MARGIN_MS, STEP_MS);
    },
  };
}

/** Runs an API call with heartbeats, which stop once a step takes longer than it can take. */
export function withHeartbeat<T>(exporterId: string, call: (context: CallContext) => Promise<T>): Promise<T> {
  const { info, heartbeat, cancellationSignal: signal } = Context.current();
  return withStepHeartbeat((progress) =>
    call({
      signal,
      exporterId,
      attempt: info.attempt,
      onWaiting: (ahead) => {
        progress.step();
        heartbeat({ waiting: true, ahead });
      },
      onStarted: (withinMs) => progress.step(withinMs),
    }),
  );
}

/** Runs a long step on the ledger with heartbeats, such as settling a submission of 999 rows. */
export async function withStepHeartbeat<T>(
  step: (progress: ReturnType<typeof createProgress>) => Promise<T>,
): Promise<T> {
  const { info, heartbeat } = Context.current();
  const progress = createProgress();
  const everyMs = Math.max(250, Math.min(5_000, (info.heartbeatTimeoutMs ?? 30_000) / 4));
  const beat = setInterval(() => progress.isAlive() && heartbeat(), everyMs);
  try {
    return await step(progress);
  } finally {
    clearInterval(beat);
  }
}

const INITIAL_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;
/** Failures not caused by PostgreSQL after which a write is given up, because it is a defect. */
const MAX_DEFECTS = 5;

/** Retries a write that must not be lost while PostgreSQL restarts. Rejects on a defect. Pauses let a process exit. */
export async function keepTrying(write: () => Promise<void>, onFailure: (error: unknown) => void): Promise<void> {
  let defects = 0;
  for (let pause = INITIAL_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      await write();
      return;
    } catch (error) {
      onFailure(error);
      if (!(error instanceof LedgerUnavailableError) && (defects += 1) === MAX_DEFECTS) throw error;
      await sleep(pause, undefined, { ref: false });
    }
  }
}
