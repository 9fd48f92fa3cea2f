import { ActivityFailure, condition, sleep, type ApplicationFailure } from '@temporalio/workflow';
import type { FileInput } from '../../../src/domain/contracts';
import type { OpenedFiling } from '../../../src/activities/filings/open-filing';
import { calls, steps } from '../../../src/workflows/activity-profiles';
import { FilingRun } from '../../../src/workflows/filing/filing-run';
import { watch } from '../../../src/workflows/filing/watchdog';
import { untilOverdue } from '../../../src/workflows/filing/filing-steps';

export { collectCertificates } from '../../../src/workflows/collect-certificates';
export { fileRemittances } from '../../../src/workflows/file-remittances';
export { reconcile } from '../../../src/workflows/reconcile';
export { refreshIrms } from '../../../src/workflows/refresh-irms';

const SOON = { summary: 'overdue', during: 'collecting' as const, text: '', attention: '' };

function takenUp(filing: OpenedFiling, settings: FilingRun['settings']): FilingRun {
  const run = new FilingRun({} as FileInput);
  run.settings = settings;
  run.markRead();
  run.adopt(filing);
  void watch(run);
  return run;
}

/** A filing is overdue while its end is queued behind another write. @returns its state in the end */
export async function overdueBehindItsEnd(filing: OpenedFiling, settings: FilingRun['settings']): Promise<string> {
  const run = takenUp(filing, settings);
  await untilOverdue(run, { ...SOON, at: Date.now() + 1_000 }, async () => {
    const written = run.step(() => sleep(3_000).then(() => ({ filing: null })));
    const ended = run.adoptState({ ...run.now, seq: filing.seq + 1, state: 'certified', dueAt: null });
    await Promise.all([written, ended]);
    // Until whatever was queued behind the end has been written.
    await sleep(3_000);
  });
  run.over = true;
  return run.state;
}

/** The overdue move fails while the work is under way for an hour more. @returns what the work ends with */
export async function overdueDuringWork(filing: OpenedFiling, settings: FilingRun['settings']): Promise<string> {
  const run = takenUp(filing, settings);
  const mark = { ...SOON, at: Date.now() + 1_000 };
  const ended = await untilOverdue(run, mark, () => sleep(3_600_000)).catch((error: Error) => error.name);
  run.over = true;
  return String(ended);
}

/** A filing whose time is over. @returns once its watch is */
export async function notMoving(filing: OpenedFiling, settings: FilingRun['settings']): Promise<string> {
  const run = new FilingRun({} as FileInput);
  run.settings = settings;
  run.markRead();
  run.adopt({ ...filing, dueAt: Date.now() + 1_000 });
  await watch(run);
  return run.state;
}

/** Makes a step. @returns the type that it is refused with, or null */
export async function oneStep(): Promise<string | null> {
  const made = steps('Read the filing').readFiling({ filingId: 'F1' });
  return made.then(
    () => null,
    (error: Error) =>
      error instanceof ActivityFailure ? ((error.cause as ApplicationFailure).type ?? null) : error.name,
  );
}

/** Activities may be handed out of an async function, as everything else. */
export async function handedOut(): Promise<string[]> {
  const each = [steps('a step'), calls('api', 'a call'), calls('submit', 'a send')].map((made) =>
    Promise.resolve(made),
  );
  let names: string[] = [];
  void Promise.all(each).then((all) => (names = all.map((made) => typeof made)));
  await condition(() => names.length > 0, 1_000);
  return names;
}
