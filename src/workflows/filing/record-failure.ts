import { ActivityFailure, ChildWorkflowFailure, isCancellation } from '@temporalio/workflow';
import { readFailure } from '../failures';
import type { FilingRun } from './filing-run';

/**
 * Makes a call that a filing can go on without: its failure becomes an event of the filing, and null comes
 * back. That goes for every failure, also a worker that was lost again and again, a database that is away, and a defect
 * of ours: what only helps never ends a filing. Only what the workflow itself throws comes through, such as the end of
 * a filing that is given up.
 */
export async function recordFailureAndContinue<T>(
  run: FilingRun,
  { kind, text }: { kind: string; text: string },
  call: () => Promise<T>,
): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    const helpFailed = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure;
    if (!helpFailed || isCancellation(error)) throw error;
    await run.note({ kind, text: `${text}: ${readFailure(error).message}` });
    return null;
  }
}
