/** Calls of a filing: those that people stop by giving it up or resolving it, and those that it can go on without. */
import {
  ActivityFailure,
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  isCancellation,
} from '@temporalio/workflow';
import type { FilingRun } from './filing-run';
import { readFailure } from '../failures';

/** The call was stopped because `stopWhen` came true. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * Runs a call that may be stopped: when the filing is given up (throws FilingGivenUp) or `stopWhen` holds (throws
 * Interrupted). A submission is never run through here.
 */
export async function interruptible<T>(
  run: FilingRun,
  call: () => Promise<T>,
  stopWhen: () => boolean = () => false,
): Promise<T> {
  run.stopIfGivenUp();
  return CancellationScope.cancellable(async () => {
    const scope = CancellationScope.current();
    let over = false;
    const stopped = () => run.stopped || stopWhen();
    void condition(() => over || stopped()).then(
      () => {
        if (!over) scope.cancel();
      },
      () => undefined,
    );
    try {
      return await call();
    } catch (error) {
      if (!isCancellation(error) || !stopped()) throw error;
      run.stopIfGivenUp();
      throw new Interrupted('stopped');
    } finally {
      over = true;
    }
  });
}

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
