/**
 * Waiting for a ledger that was put back, or for a document store that cannot count sends. Nobody guesses meanwhile.
 */
import { sleep } from '@temporalio/workflow';
import { ACCESS, delayMs } from '../../domain/service/retry-table';
import { readFailure } from '../failures';
import type { FilingRun } from './filing-run';

/**
 * Makes a step, and makes it again until the ledger is whole and its store is there; meanwhile the filing asks for
 * attention.
 */
export async function onceLedgerIsWhole<T>(run: FilingRun, step: () => Promise<T>): Promise<T> {
  const { attention } = run;
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await step();
      if (tries > 1) await run.move(run.state, { kind: 'resumed', text: 'resumed' }, { attention });
      return result;
    } catch (error) {
      const { kind, message } = readFailure(error);
      if (kind !== 'ledger_put_back' && kind !== 'documents_unavailable') throw error;
      const asked = `${message} It is looked at again by itself, within 15 minutes.`;
      if (tries === 1) await run.move(run.state, { kind, text: message }, { attention: asked, needsAttention: true });
      await sleep(delayMs(ACCESS, tries), { summary: `Retry after ${kind}` });
    }
  }
}
