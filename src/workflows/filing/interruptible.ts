/** Waiting for calls that may take days, in a filing that people may give up or resolve meanwhile. */
import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { FilingRun } from './filing-run';

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
