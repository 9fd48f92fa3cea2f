import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type pg from 'pg';
import { filingWorkflowId } from '../../src/domain/names';
import type { PlannedFiling } from '../plan';
import { pick, type Random } from '../random';
import { isSettled, readStandings } from '../watch';

const LOOK_EVERY_MS = 5_000;

export type OperatorAct = 'reset' | 'terminated' | 'cancelled';

/**
 * Resets, terminates or cancels the workflow of a random filing, as an operator can in Temporal's UI.
 * @returns what was done, null where there was no such workflow to do it to
 */
export async function disturbWorkflow(
  temporal: Client,
  filings: readonly PlannedFiling[],
  random: Random,
): Promise<OperatorAct | null> {
  const { reference } = pick(random, filings);
  const handle = temporal.workflow.getHandle(filingWorkflowId('test', reference));
  const act = pick(random, ['reset', 'reset', 'terminated', 'cancelled'] as const);
  try {
    if (act === 'terminated') await handle.terminate('chaos');
    else if (act === 'cancelled') await handle.cancel();
    else await reset(temporal, handle.workflowId, (tasks) => pick(random, tasks));
    return act;
  } catch (error) {
    // It is not there yet, or has ended.
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Resets the newest run, open or closed, to one of the points that the UI offers. */
export async function reset(
  temporal: Client,
  workflowId: string,
  choose: <T>(tasks: readonly T[]) => T,
): Promise<void> {
  const handle = temporal.workflow.getHandle(workflowId);
  const { runId } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const completed = (events ?? []).filter(({ workflowTaskCompletedEventAttributes: task }) => task);
  if (completed.length === 0) return;
  await temporal.workflowService.resetWorkflowExecution({
    namespace: temporal.options.namespace,
    workflowExecution: { workflowId, runId },
    reason: 'chaos',
    requestId: randomUUID(),
    workflowTaskFinishEventId: choose(completed).eventId,
  });
}

/**
 * Repeats the command of each filing that has not ended and whose workflow is closed.
 * @returns how often, once `signal` is aborted
 */
export async function repeatLostCommands(options: {
  temporal: Client;
  pool: pg.Pool;
  filings: readonly PlannedFiling[];
  /** Whether a workflow that is not there was lost, and not only not started yet. */
  absentIsLost: boolean;
  fileAgain: (filing: PlannedFiling) => Promise<unknown>;
  signal: AbortSignal;
}): Promise<number> {
  const { temporal, pool, filings, absentIsLost, fileAgain, signal } = options;
  let given = 0;
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    const standings = await readStandings(pool).catch(() => null);
    if (standings === null) continue;
    for (const filing of filings) {
      if (signal.aborted) break;
      const found = standings.filter(({ reference }) => reference === filing.reference);
      if (found.some(isSettled)) continue;
      // A server that is away says nothing of them.
      const there = await isRunning(temporal, filing).catch(() => true);
      if (there ?? !absentIsLost) continue;
      given += 1;
      await fileAgain(filing).catch(() => undefined);
    }
  }
  return given;
}

/** Null: there is none. */
async function isRunning(temporal: Client, { reference }: PlannedFiling): Promise<boolean | null> {
  try {
    const { status } = await temporal.workflow.getHandle(filingWorkflowId('test', reference)).describe();
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
