import type { Client, WorkflowHandle } from '@temporalio/client';
import type { LoadedDataConverter, QueryDefinition } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow';
import { optionalTsToDate } from '@temporalio/common/lib/time';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { counted } from '../domain/text';
import { silenceNotice } from './workers-present';

const QUERY_WITHIN_MS = 5_000;
const INITIAL_PAUSE_MS = 150;
const MAX_PAUSE_MS = 2_000;

/**
 * Follows a workflow through all its runs, by query (which needs a worker) and result, until it ends, `until` holds, or
 * `withinMs` is over.
 * @returns its progress or result; null, with a notice for the user, if no worker has answered
 * @throws the workflow's failure
 */
export async function follow<P>(
  { temporal: client, taskQueue }: { temporal: Client; taskQueue: string },
  workflowId: string,
  options: {
    /** A query with the same shape as the workflow's result. */
    query: QueryDefinition<P>;
    /** Stops following although the workflow continues. */
    until: (progress: P) => boolean;
    onProgress?: (progress: P) => void;
    /** Called once with a notice for the user if no worker answers. */
    onNotice?: (notice: string) => void;
    /** Stops after this time; default never. */
    withinMs?: number;
  },
): Promise<{ progress: P; notice: null } | { progress: null; notice: string }> {
  const handle = client.workflow.getHandle(workflowId);
  const stop = new AbortController();
  // Each call of the long poll adds a listener, which Node would report as a leak.
  setMaxListeners(0, stop.signal);
  let end: { result: P } | { error: unknown } | undefined;
  // The wait for the result is a series of long polls, which the signal ends when this function returns.
  const untilEnd = () =>
    client.workflow
      .withAbortSignal(stop.signal, () => handle.result() as Promise<P>)
      .then(
        (value) => void (end = { result: value }),
        (error: unknown) => void (end = { error }),
      );
  let result = untilEnd();
  const deadline = options.withinMs === undefined ? Infinity : Date.now() + options.withinMs;
  const query = () => {
    const within = Math.min(QUERY_WITHIN_MS, Math.max(deadline - Date.now(), 100));
    return client.workflow
      .withDeadline(Date.now() + within, () => handle.query(options.query))
      .then(
        (answer) => ({ answer }),
        () => ({ silent: true }),
      );
  };
  let progress: P | null = null;
  let silence: Promise<string> | undefined;
  const report = (answer: Awaited<ReturnType<typeof query>>) => {
    if ('answer' in answer) {
      progress = answer.answer;
      options.onProgress?.(progress);
    } else if (!silence) {
      silence = silenceNotice(client, taskQueue, workflowId);
      void silence.then(options.onNotice);
    }
  };
  try {
    for (let pause = INITIAL_PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
      const answer = await Promise.race([query(), result]);
      if (end && 'error' in end && (await runsAgain(client, handle))) {
        end = undefined;
        result = untilEnd();
        continue;
      }
      if (end) break;
      if (answer) report(answer);
      const reached = answer && 'answer' in answer && options.until(answer.answer);
      if (reached || Date.now() >= deadline) break;
      await Promise.race([sleep(pause), result]);
    }
  } finally {
    stop.abort();
  }
  if (end && 'error' in end) throw end.error;
  if (end) options.onProgress?.(end.result);
  const last = end ? end.result : progress;
  if (last !== null) return { progress: last, notice: null };
  return { progress: null, notice: await (silence ?? silenceNotice(client, taskQueue, workflowId)) };
}

/** Whether a newer run continues, because a reset terminates the run that was followed. */
async function runsAgain(client: Client, handle: WorkflowHandle): Promise<boolean> {
  return client
    .withDeadline(Date.now() + QUERY_WITHIN_MS, () => handle.describe())
    .then(
      ({ closeTime }) => !closeTime,
      () => false,
    );
}

/** A line for people about the pending call with the most attempts; null if none is pending. */
export async function pendingCallText(handle: WorkflowHandle, converter: LoadedDataConverter): Promise<string | null> {
  const { raw } = await handle.describe();
  const [call, ...others] = (raw.pendingActivities ?? []).sort((a, b) => (b.attempt ?? 0) - (a.attempt ?? 0));
  if (!call) return null;
  const name = (call.activityType?.name ?? 'a call').replace(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
  const failure = await decodeOptionalFailureToOptionalError(converter, call.lastFailure);
  const next = optionalTsToDate(call.nextAttemptScheduleTime)?.toISOString();
  // `attempt` is the number of the next attempt.
  const failureText =
    failure &&
    `, which failed ${counted((call.attempt ?? 1) - 1, 'time')}: ${failure.message}${next ? `; next try at ${next}` : ''}`;
  return `waits for: ${name}${failureText ?? ''}${others.length > 0 ? ` (and ${others.length} more)` : ''}`;
}
