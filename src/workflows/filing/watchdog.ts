/** One timer for each filing that looks whether it has moved, and arms itself again. */
import { condition } from '@temporalio/workflow';
import { FilingMovedOn, type FilingRun } from './filing-run';

/** Asks for attention whenever the filing has not moved for longer than its state explains. Ends with the run. */
export async function watch(run: FilingRun): Promise<void> {
  for (;;) {
    // While a filing waits for a person nothing is due.
    await condition(() => run.over || run.dueAt !== null);
    if (run.over) return;
    const left = (run.dueAt ?? 0) - Date.now();
    if (left > 0) {
      // Moves in between do not touch the timer: it looks when it fires, and waits for the rest.
      if (await condition(() => run.over, left, { summary: 'Next step becomes overdue' })) return;
      continue;
    }
    try {
      await run.askForAttention(
        'It has not moved for longer than its state explains. See its workflow in the Temporal UI.',
      );
    } catch (error) {
      if (!(error instanceof FilingMovedOn)) throw error;
      await condition(() => run.over || run.upToDate);
    }
  }
}
