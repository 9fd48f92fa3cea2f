/** The running activity: its heartbeats, retries of its writes, and the id of its step. */
import { Context } from '@temporalio/activity';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallContext } from '../api/http/call';
import { NOT_LOCAL, ROWS_IN_A_LOCAL_STEP } from '../domain/names';
import { LedgerPutBack, SendStoreError } from '../ledger/sends/sends';
import { LedgerUnavailableError } from '../ledger/unavailable';
import { refusal } from './application-failure';

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
/** Failures not caused by PostgreSQL or the document store after which a write is given up, because it is a defect. */
const MAX_DEFECTS = 5;
const TEMPORARY_ERRORS = [LedgerUnavailableError, SendStoreError, LedgerPutBack];

/** {@link keepTrying} that never rejects. It returns after `withinMs` at the latest, while the tries go on. */
export async function keepTryingFor(withinMs: number, ...tries: Parameters<typeof keepTrying>): Promise<void> {
  const tried = keepTrying(...tries).catch(() => undefined);
  await Promise.race([tried, sleep(withinMs, undefined, { ref: false })]);
}

/** Retries a write that must not be lost while PostgreSQL restarts. Rejects on a defect. Pauses let a process exit. */
export async function keepTrying(write: () => Promise<void>, onFailure: (error: unknown) => void): Promise<void> {
  let defects = 0;
  for (let pause = INITIAL_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      await write();
      return;
    } catch (error) {
      onFailure(error);
      if (!TEMPORARY_ERRORS.some((kind) => error instanceof kind) && (defects += 1) === MAX_DEFECTS) throw error;
      await sleep(pause, undefined, { ref: false });
    }
  }
}

/**
 * Identifies a step; equal for each try. Local activities have their own numbers. Includes the type, because a repeated
 * workflow task may decide differently from the lost one.
 */
export function stepId(): string {
  const { workflowExecution, activityId, activityType, isLocal } = Context.current().info;
  return `${workflowExecution?.runId ?? ''}/${isLocal ? 'local-' : ''}${activityId}/${activityType}`;
}

/** @throws if this is a local activity and the rows are too many for it: it would hold up its workflow task */
export function needFewRows(rows: number): void {
  if (rows > ROWS_IN_A_LOCAL_STEP && Context.current().info.isLocal) {
    throw refusal(NOT_LOCAL, `${rows} rows are for a normal activity.`);
  }
}
