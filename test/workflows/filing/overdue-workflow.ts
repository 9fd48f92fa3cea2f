import { sleep } from '@temporalio/workflow';
import type { FileInput } from '../../../src/domain/contracts';
import type { OpenedFiling } from '../../../src/activities/filings/open-filing';
import { FilingRun } from '../../../src/workflows/filing/filing-run';
import { watch } from '../../../src/workflows/filing/watchdog';
import { untilOverdue } from '../../../src/workflows/filing/filing-steps';

/** A filing is overdue while its end is queued behind another write. @returns its state in the end */
export async function overdueBehindItsEnd(
  input: FileInput,
  filing: OpenedFiling,
  settings: FilingRun['settings'],
): Promise<string> {
  const run = new FilingRun(input);
  run.settings = settings;
  run.hasRead();
  run.adopt(filing);
  void watch(run);
  const mark = { at: Date.now() + 1_000, summary: 'overdue', during: 'collecting' as const, text: '', attention: '' };
  await untilOverdue(run, mark, async () => {
    const written = run.step(() => sleep(3_000).then(() => ({ filing: null })));
    const ended = run.took({ ...run.now, seq: filing.seq + 1, state: 'certified', dueAt: null });
    await Promise.all([written, ended]);
    // Until whatever was queued behind the end has been written.
    await sleep(3_000);
  });
  run.over = true;
  return run.state;
}
