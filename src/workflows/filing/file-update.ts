/** The update `file`: the documented way to start a filing, together with its workflow or after it. */
import { ApplicationFailure, condition } from '@temporalio/workflow';
import type { FileInput, FilingResult, RefusalDetails } from '../../domain/contracts';
import type { Finding } from '../../domain/rules/finding';
import { FilingMovedOn, refusedResult, type FilingRun } from './filing-run';

/** A run that was started with the update waits for it this long. */
const UPDATE_WITHIN_MS = 60_000;

/** Whether the update came that the run was started with; true for a run that was started without one. */
export async function fileUpdateCame({ input, fileUpdates }: FilingRun): Promise<boolean> {
  if (input.awaitUpdate !== true) return true;
  return condition(() => fileUpdates.come > 0, UPDATE_WITHIN_MS, { summary: 'Wait for the update file' });
}

/** Resolves once every update that has come is answered: until then nothing is sent. */
export async function fileUpdatesAnswered({ fileUpdates }: FilingRun): Promise<void> {
  await condition(() => fileUpdates.open === 0);
}

/**
 * Answers as soon as the run's filing is recorded or refused. The server drops the input of a start that finds a run
 * under way, so an input that is not the run's own is compared with the filing in the ledger.
 * @throws ApplicationFailure `reference_taken` where the reference and number have other content; `run_ending` where a
 * run that recorded nothing was about to end, or the ledger was put back: then the caller repeats
 */
export async function answerFile(run: FilingRun, input: FileInput): Promise<FilingResult> {
  const { fileUpdates } = run;
  fileUpdates.come += 1;
  fileUpdates.open += 1;
  try {
    const own = JSON.stringify(input) === JSON.stringify(run.input);
    await condition(() => run.decided);
    if (run.refusal) {
      if (!own)
        throw failure('run_ending', 'A refused run of the same workflow id was about to end: send it again.', {});
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
      recorded: { ...filing, state: run.state, counts: run.counts },
    });
  } catch (error) {
    if (!(error instanceof FilingMovedOn)) throw error;
    throw failure('run_ending', 'The ledger was put back, and the filing is recorded once more: send it again.', {});
  } finally {
    fileUpdates.open -= 1;
  }
}

function throwIfTaken(errors: Finding[], holder: { filingId: string; state: string } | null): void {
  const taken = errors.find(({ code }) => code === 'reference_taken');
  if (!taken) return;
  const { filingId = null, state = null } = holder ?? {};
  throw failure('reference_taken', taken.message, { errors, holder: filingId, state });
}

function failure(code: string, message: string, more: Omit<RefusalDetails, 'code'>): ApplicationFailure {
  const details: RefusalDetails[] = [{ code, ...more }];
  return ApplicationFailure.create({ message, type: code, nonRetryable: true, details });
}
