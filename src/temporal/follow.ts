import type { Client, WorkflowHandle } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const QUERY_WITHIN_MS = 5_000;
const INITIAL_PAUSE_MS = 150;
const MAX_PAUSE_MS = 2_000;

export interface FollowOptions<P> {
  /** A query of the workflow that returns the same shape as its result. */
  query: QueryDefinition<P>;
  /** Stops following although the workflow continues. */
  until: (progress: P) => boolean;
  onProgress?: (progress: P) => void;
  /** Called once if no worker answers, with the reason. */
  onSilence?: (reason: string) => void;
  /** Gives up after this time; without it, never. */
  withinMs?: number;
}

/** Progress of a followed workflow; null if no worker has answered yet. */
export interface Followed<P> {
  progress: P | null;
  /** Whether the workflow has ended; `progress` is its result then. */
  ended: boolean;
}

/**
 * Follows a workflow over all its runs, by query (needs a worker) and result, until it ends, `until` holds, or the time
 * is up.
 * @throws what it failed with
 */
export async function follow<P>(client: Client, workflowId: string, options: FollowOptions<P>): Promise<Followed<P>> {
  const handle = client.workflow.getHandle(workflowId);
  const stop = new AbortController();
  // Every call of the long poll adds a listener to it, which Node would report as a leak.
  setMaxListeners(0, stop.signal);
  let end: { result: P } | { error: unknown } | undefined;
  // The wait for the result is a sequence of long polls; without the signal it would continue after this call.
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
      .then((answer) => ({ answer }), firstReason);
  };
  let progress: P | null = null;
  let silent = false;
  const report = (answer: Awaited<ReturnType<typeof query>>) => {
    if ('answer' in answer) {
      progress = answer.answer;
      options.onProgress?.(progress);
    } else if (!silent) {
      silent = true;
      options.onSilence?.(answer.reason);
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
  if (!end) return { progress, ended: false };
  if ('error' in end) throw end.error;
  options.onProgress?.(end.result);
  return { progress: end.result, ended: true };
}

/** Whether another run goes on: a reset terminates the run that was followed. */
async function runsAgain(client: Client, handle: WorkflowHandle): Promise<boolean> {
  return client
    .withDeadline(Date.now() + QUERY_WITHIN_MS, () => handle.describe())
    .then(
      ({ status }) => status.name === 'RUNNING',
      () => false,
    );
}

function firstReason(error: unknown): { reason: string } {
  return { reason: error instanceof Error ? error.message : String(error) };
}
