/** What may be asked of a running filing. Validators look at the message alone: the update may start the run. */
import { CancellationScope, setHandler, ApplicationFailure, condition } from '@temporalio/workflow';
import type {
  AbandonArgs,
  ApproveArgs,
  FilingResult,
  ResolveArgs,
  FileInput,
  RefusalDetails,
} from '../../domain/contracts';
import { personKey } from '../../domain/principal';
import {
  abandonUpdate,
  answerStoredSignal,
  approveUpdate,
  credentialsRenewedSignal,
  fileUpdate,
  filingQuery,
  resolveUpdate,
} from '../messages';
import { refuse } from './filing-requests';
import { type FilingRun, FilingMovedOn, refusedResult } from './filing-run';
import type { Finding } from '../../domain/rules/finding';

/** Registers every handler; must run before the workflow waits for anything. */
export function handleFilingMessages(run: FilingRun): void {
  setHandler(filingQuery, () => run.progress());

  setHandler(fileUpdate, (input) => CancellationScope.nonCancellable(() => answerFile(run, input)), {
    validator: (input) => {
      if (typeof input !== 'object' || input === null) refuse('Give the input of fileRemittances.');
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

  setHandler(approveUpdate, (args) => answering(run, () => run.requests.approve(args)), {
    validator: (args: ApproveArgs) => {
      const { by } = given(args);
      if (personKey(by) === '') refuse('Say who approves.');
    },
  });

  setHandler(resolveUpdate, (args) => answering(run, () => run.requests.resolve(args)), {
    validator: (args: ResolveArgs) => {
      const { as, requestId, certificates, note } = given(args);
      if (as !== 'filed' && as !== 'not-filed') refuse('Say filed or not-filed.');
      if (isBlank(note)) refuse('Say in a note what was looked at.');
      if (as === 'filed' && isBlank(requestId) && !certificates?.length)
        refuse('Give the request id under which it was filed, or the certificates of its rows.');
    },
  });

  setHandler(abandonUpdate, (args) => answering(run, () => run.requests.giveUp(args)), {
    validator: (args: AbandonArgs) => {
      const { note } = given(args);
      if (isBlank(note)) refuse('Say in a note why it is given up.');
    },
  });
}

/** What an update brought: a caller in another language may send none, or null. */
const given = <T extends object>(args: T | null | undefined): Partial<T> => args ?? {};

/** Judges and carries out what was asked, once the ledger was read; a cancel of the workflow does not stop it. */
function answering(run: FilingRun, answer: () => Promise<void>): Promise<FilingResult> {
  return CancellationScope.nonCancellable(async () => {
    await run.known();
    await answer();
    return run.result();
  });
}

function isBlank(text: unknown): boolean {
  return typeof text !== 'string' || text.trim() === '';
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
      recorded: { ...filing, ...run.now },
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
