/** Message handlers of a filing. Validators see only the message, because the update may have started the run. */
import { CancellationScope, setHandler, condition } from '@temporalio/workflow';
import type { FileInput, FilingResult } from '../../domain/contracts';
import { abandonArgs, approveArgs, resolveArgs } from '../../domain/update-contracts';
import { isObject } from '../../domain/values';
import { handleUpdate, refuse, withoutNulls } from '../inputs';
import {
  abandonUpdate,
  answerStoredSignal,
  approveUpdate,
  credentialsRenewedSignal,
  fileUpdate,
  filingQuery,
  resolveUpdate,
} from '../messages';
import { type FilingRun, FilingMovedOn, refusedResult } from './filing-run';
import type { Finding } from '../../domain/rules/finding';

/** Registers every handler; must run before the workflow waits for anything. */
export function handleFilingMessages(run: FilingRun): void {
  setHandler(filingQuery, () => run.progress());

  setHandler(fileUpdate, (input) => CancellationScope.nonCancellable(() => answerFile(run, withoutNulls(input))), {
    // Invalid fields are answered by a refused result, which shows what is recorded under the reference.
    validator: (input) => {
      if (!isObject(input)) refuse('Give the input of fileRemittances.');
    },
  });

  // A malformed signal must not fail the workflow task: it stays in the history and would fail each retry.
  setHandler(credentialsRenewedSignal, (renewed: { version: number } | null | undefined) => {
    const version = renewed?.version;
    if (typeof version === 'number') run.renewedCredentials = Math.max(run.renewedCredentials, version);
  });

  // The answer itself is in the ledger, which is read when the wait ends.
  setHandler(answerStoredSignal, () => {
    run.lateAnswers += 1;
  });

  handleUpdate(approveUpdate, approveArgs, (args) => answering(run, () => run.requests.approve(args)));
  handleUpdate(resolveUpdate, resolveArgs, (args) => answering(run, () => run.requests.resolve(args)));
  handleUpdate(abandonUpdate, abandonArgs, (args) => answering(run, () => run.requests.giveUp(args)));
}

/** Carries out a request once the ledger was read; a cancellation of the workflow does not stop it. */
function answering(run: FilingRun, answer: () => Promise<void>): Promise<FilingResult> {
  return CancellationScope.nonCancellable(async () => {
    await run.untilLedgerRead();
    await answer();
    return run.result();
  });
}

/** How long a run that was started by update-with-start waits for the update. */
const UPDATE_WITHIN_MS = 60_000;

/** Whether the update that started the run arrived in time; true for a run that was started without one. */
export async function fileUpdateCame({ input, fileUpdates }: FilingRun): Promise<boolean> {
  if (input.awaitUpdate !== true) return true;
  return condition(() => fileUpdates.come > 0, UPDATE_WITHIN_MS, { summary: 'Wait for the update file' });
}

/**
 * Answers once the filing is recorded or refused. Update-with-start on a running workflow drops its start input, so
 * an input that differs from the run's is compared with the recorded filing.
 * @throws ApplicationFailure `reference_taken`: other content; `run_ending`: the caller has to repeat
 */
async function answerFile(run: FilingRun, input: FileInput): Promise<FilingResult> {
  const { fileUpdates } = run;
  fileUpdates.come += 1;
  fileUpdates.open += 1;
  try {
    const isSameInput = JSON.stringify(input) === JSON.stringify(run.input);
    await condition(() => run.decided);
    if (run.refusal) {
      if (!isSameInput)
        refuse('A refused run of the same workflow id was about to end: send it again.', { code: 'run_ending' });
      throwIfTaken(run.refusal.errors, run.refusal.recorded);
      return run.result();
    }
    const { filing } = run;
    if (isSameInput || filing === null) return run.result();
    const { filingId } = filing;
    const compare = run.steps('Compare with the filing under way');
    const errors = await run.failIfMissing(() => compare.compareFiling({ filingId, input }));
    if (errors === null) return run.result();
    throwIfTaken(errors, { filingId, state: run.state });
    return refusedResult(input, {
      errors,
      contentHash: null,
      recorded: { ...filing, ...run.now },
    });
  } catch (error) {
    if (!(error instanceof FilingMovedOn)) throw error;
    refuse('The ledger was put back, and the filing is recorded once more: send it again.', { code: 'run_ending' });
  } finally {
    fileUpdates.open -= 1;
  }
}

function throwIfTaken(errors: Finding[], holder: { filingId: string; state: string } | null): void {
  const taken = errors.find(({ code }) => code === 'reference_taken');
  if (!taken) return;
  const { filingId = null, state = null } = holder ?? {};
  refuse(taken.message, { code: 'reference_taken', errors, holder: filingId, state });
}
