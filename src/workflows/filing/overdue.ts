import { condition } from '@temporalio/workflow';
import type { FilingState } from '../../domain/filing/states';
import type { FilingRun } from './filing-run';

export interface OverdueMark {
  afterMs: number;
  /** Shown beside the timer. */
  summary: string;
  /** The state that a filing is overdue in; in a pause the mark waits until the filing is back in it. */
  during: FilingState;
  text: string;
  attention: string;
}

/** Does work that may take days; past the mark the filing needs attention, and the work goes on. */
export async function untilOverdue<T>(run: FilingRun, mark: OverdueMark, work: () => Promise<T>): Promise<T> {
  let over = false;
  const ended = () => over || run.stopped;
  const watch = async () => {
    if (await condition(ended, mark.afterMs, { summary: mark.summary })) return;
    // A pause keeps its own state until it is over.
    await condition(() => ended() || run.state === mark.during);
    if (ended()) return;
    await run.move('overdue', { kind: 'overdue', text: mark.text }, { attention: mark.attention });
  };
  const watching = watch();
  // A failure of it is thrown where it is awaited, at the end of the work.
  watching.catch(() => undefined);
  try {
    return await work();
  } finally {
    over = true;
    await watching;
  }
}
