/** What may be asked of a running filing. Validators look at the message alone: the update may start the run. */
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
    // What is wrong with its fields is answered as a refusal, with what stands under its reference.
    validator: (input) => {
      if (!isObject(input)) refuse('Give the input of fileRemittances.');
    },
  });

  // Anybody may send a signal, and one that cannot be read must not stop the filing: it stays in the history.
  setHandler(credentialsRenewedSignal, (renewed: { version: number } | null | undefined) => {
    const version = renewed?.version;
    if (typeof version === 'number') run.renewedCredentials = Math.max(run.renewedCredentials, version);
  });

  // The answer itself stands in the ledger, which is read when a wait ends.
  setHandler(answerStoredSignal, () => {
    run.lateAnswers += 1;
  });

  handleUpdate(approveUpdate, approveArgs, (args) => answering(run, () => run.requests.approve(args)));
  handleUpdate(resolveUpdate, resolveArgs, (args) => answering(run, () => run.requests.resolve(args)));
  handleUpdate(abandonUpdate, abandonArgs, (args) => answering(run, () => run.requests.giveUp(args)));
}

/** Judges and carries out what was asked, once the ledger was read; a cancel of the workflow does not stop it. */
function answering(run: FilingRun, answer: () => Promise<void>): Promise<FilingResult> {
  return CancellationScope.nonCancellable(async () => {
    await run.known();
    await answer();
    return run.result();
  });
}

/** A run that was started with the update waits for it this long. */
const UPDATE_WITHIN_MS = 60_000;

/** Whether the update came that the run was started with; true for a run that was started without one. */
export async function fileUpdateCame({ input, fileUpdates }: FilingRun): Promise<boolean> {
  if (input.awaitUpdate !== true) return true;
  return condition(() => fileUpdates.come > 0, UPDATE_WITHIN_MS, { summary: 'Wait for the update file' });
}

/**
 * Answers once the filing is recorded or refused. A start that finds a run drops its input, so another is compared.
 * @throws ApplicationFailure `reference_taken`: other content; `run_ending`: the caller repeats
 */
async function answerFile(run: FilingRun, input: FileInput): Promise<FilingResult> {
  const { fileUpdates } = run;
  fileUpdates.come += 1;
  fileUpdates.open += 1;
  try {
    const own = JSON.stringify(input) === JSON.stringify(run.input);
    await condition(() => run.decided);
    if (run.refusal) {
      if (!own)
        refuse('A refused run of the same workflow id was about to end: send it again.', { code: 'run_ending' });
      throwIfTaken(run.refusal.errors, run.refusal.recorded);
      return run.result();
    }
    const { filing } = run;
    if (own || filing === null) return run.result();
    const { filingId } = filing;
    const compare = run.steps('Compare with the filing under way');
    const errors = await run.orMissing(() => compare.compareFiling({ filingId, input }));
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
