/** One re-arming timer for each filing that checks whether it has moved or is overdue. */
import { condition, log } from '@temporalio/workflow';
import { readFailure } from '../failures';
import { FilingMovedOn, type FilingRun } from './filing-run';
import type { OverdueMark } from './filing-steps';

const NOT_MOVED = 'It has not moved for longer than its state explains. See its workflow in the Temporal UI.';
const NOT_ACTIVE =
  'The authority has not opened API access in time. The worker keeps checking; ask the authority or the service.';

/** Watches a filing until its run is over. A defect ends the watch only; the filing meets it at its own next move. */
export async function watch(run: FilingRun): Promise<void> {
  try {
    await watchMoves(run);
  } catch (error) {
    const { message } = readFailure(error);
    log.error('the watchdog of a filing has ended', { message });
    await run.note({ kind: 'not_watched', text: `It is not watched any more: ${message}` }).catch(() => undefined);
  }
}

/** Asks for attention when the filing has not moved for too long, and moves it to `overdue` past its mark. */
async function watchMoves(run: FilingRun): Promise<void> {
  for (;;) {
    // Nothing is due while the filing waits for a person.
    await condition(() => run.over || nextDue(run) !== null);
    if (run.over) return;
    const due = nextDue(run);
    if (due === null) continue;
    const left = due.at - Date.now();
    if (left > 0) {
      // Only an earlier due time replaces the timer; after a later one it fires, looks and waits for the rest.
      const sooner = () => run.over || (nextDue(run)?.at ?? due.at) < due.at;
      await condition(sooner, left, { summary: due.summary });
      continue;
    }
    try {
      await (due.mark ? makeOverdue(run, due.mark) : askForAttention(run));
    } catch (error) {
      if (!(error instanceof FilingMovedOn)) throw error;
      await condition(() => run.over || run.upToDate);
    }
  }
}

function nextDue(run: FilingRun): { at: number; summary: string; mark: OverdueMark | null } | null {
  const { dueAt } = run.now;
  const mark = waitingMark(run);
  if (mark && (dueAt === null || mark.at <= dueAt)) return { at: mark.at, summary: mark.summary, mark };
  return dueAt === null ? null : { at: dueAt, summary: 'Next step becomes overdue', mark: null };
}

/** The overdue mark, if its move is still to be made. A filing in a pause becomes overdue only after it. */
function waitingMark(run: FilingRun): OverdueMark | null {
  const mark = run.overdueMark;
  if (!mark || mark.made || run.stopped) return null;
  return mark.at > Date.now() || run.state === mark.during ? mark : null;
}

function askForAttention(run: FilingRun): Promise<boolean> {
  const text = run.now.waitsFor === 'activation' ? NOT_ACTIVE : NOT_MOVED;
  const { state } = run;
  const isDue = () => run.state === state && run.now.dueAt !== null && run.now.dueAt <= Date.now();
  return run.move(state, { kind: 'not_moving', text }, { attention: text, late: true }, isDue);
}

async function makeOverdue(run: FilingRun, mark: OverdueMark): Promise<void> {
  const { during, text, attention } = mark;
  const moved = run.move('overdue', { kind: 'overdue', text }, { attention }, () => run.state === during);
  mark.made = moved.then(() => undefined);
  // `untilOverdue` throws a failure of this move when the work ends, which may be days later.
  mark.made.catch(() => undefined);
  if (!(await moved.catch(() => true))) mark.made = null;
}
