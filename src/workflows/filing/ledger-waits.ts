/**
 * Waiting for a ledger that was put back, or for a document store that cannot count sends.
 */
import { sleep } from '@temporalio/workflow';
import { ACCESS, delayMs } from '../../domain/service/retry-table';
import { readFailure } from '../failures';
import type { FilingRun } from './filing-run';

/** What is waited for, where a step failed for want of a whole ledger or of its store. @throws any other failure */
export function needsWholeLedger(error: unknown): { kind: string; message: string; attention: string } {
  const { kind, message } = readFailure(error);
  if (kind !== 'ledger_put_back' && kind !== 'documents_unavailable') throw error;
  return { kind, message, attention: `${message} It is looked at again by itself, within 15 minutes.` };
}

/**
 * Makes a step, and makes it again until the ledger is whole and its store is there; meanwhile the filing asks for
 * attention, and continues as new when its history is long. `inRun`: the step needs what only this run holds, so that
 * it does not.
 */
export async function onceLedgerIsWhole<T>(
  run: FilingRun,
  step: () => Promise<T>,
  { inRun = false }: { inRun?: boolean } = {},
): Promise<T> {
  const { asks: attention } = run;
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await step();
      if (tries > 1) await run.move(run.state, { kind: 'resumed', text: 'resumed' }, { attention });
      return result;
    } catch (error) {
      const { kind, message, attention: asked } = needsWholeLedger(error);
      if (tries === 1) await run.move(run.state, { kind, text: message }, { attention: asked, needsAttention: true });
      const [ms, summary] = [delayMs(ACCESS, tries), `Retry after ${kind}`] as const;
      if (inRun) await sleep(ms, { summary });
      else await run.rest(ms, summary);
    }
  }
}
