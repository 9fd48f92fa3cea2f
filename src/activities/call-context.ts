/** The activity that runs: its heartbeats, its repeats, and the id of its step. */
import { Context } from '@temporalio/activity';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallContext } from '../api/http/call';
import { NOT_LOCAL, ROWS_IN_A_LOCAL_STEP } from '../domain/names';
import { LedgerPutBack, SendStoreError } from '../ledger/sends/sends';
import { LedgerUnavailableError } from '../ledger/unavailable';
import { refusal } from './application-failure';

/** A step on the ledger, and the wait between two checks of the budget, end well within this. */
const STEP_MS = 60_000;
/** What a call may take beyond its own bound, on a busy machine. */
const MARGIN_MS = 30_000;

/** Whether an activity makes progress: true until the step that it last began should have ended. */
export function createProgress(clock: () => number = () => performance.now()) {
  let dueAt = clock() + STEP_MS;
  return {
    isAlive: () => clock() < dueAt,
    /** A step begins, or goes on, that is over within `ms`. */
    step: (ms = STEP_MS) => {
      dueAt = clock() + Math.max(ms + MARGIN_MS, STEP_MS);
    },
  };
}

/** An API call's context with heartbeats. It stops when nothing moves for longer than anything takes. */
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

/** A step on the ledger that may take a while, with heartbeats: settling a submission of 999 rows, say. */
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
/** Failures until a write is given up that neither PostgreSQL nor the document store explains: defects do not pass. */
const DEFECTS = 5;
const PASSING = [LedgerUnavailableError, SendStoreError, LedgerPutBack];

/** As {@link keepTrying}, without failing; it is over after `withinMs` all the same, and the tries go on. */
export async function keepTryingFor(withinMs: number, ...tries: Parameters<typeof keepTrying>): Promise<void> {
  const tried = keepTrying(...tries).catch(() => undefined);
  await Promise.race([tried, sleep(withinMs, undefined, { ref: false })]);
}

/** Repeats a write that must not be lost while PostgreSQL restarts; a defect rejects it. Pauses let a process end. */
export async function keepTrying(write: () => Promise<void>, onFailure: (error: unknown) => void): Promise<void> {
  let defects = 0;
  for (let pause = INITIAL_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      await write();
      return;
    } catch (error) {
      onFailure(error);
      if (!PASSING.some((kind) => error instanceof kind) && (defects += 1) === DEFECTS) throw error;
      await sleep(pause, undefined, { ref: false });
    }
  }
}

/**
 * The same for each try of a step. Local activities are numbered by themselves. With the type: a repeated workflow task
 * may decide otherwise than the lost.
 */
export function stepId(): string {
  const { workflowExecution, activityId, activityType, isLocal } = Context.current().info;
  return `${workflowExecution?.runId ?? ''}/${isLocal ? 'local-' : ''}${activityId}/${activityType}`;
}

/** A step on many rows is no local activity: it would hold its workflow task up. @throws where this one runs locally */
export function needFewRows(rows: number): void {
  if (rows > ROWS_IN_A_LOCAL_STEP && Context.current().info.isLocal) {
    throw refusal(NOT_LOCAL, `${rows} rows are for a normal activity.`);
  }
}
