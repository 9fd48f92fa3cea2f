/**
 * What people and other workflows may ask of a running filing. Validators look at what was asked alone; whether it fits
 * the filing is judged once the ledger was read, because a run may be started by the very update that it answers.
 */
import { CancellationScope, setHandler } from '@temporalio/workflow';
import type { AbandonArgs, ApproveArgs, FilingResult, ResolveArgs } from '../../domain/contracts';
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
import { answerFile } from './file-update';
import { refuse } from './filing-requests';
import type { FilingRun } from './filing-run';

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
    validator: ({ by }: ApproveArgs) => {
      if (personKey(by) === '') refuse('Say who approves.');
    },
  });

  setHandler(resolveUpdate, (args) => answering(run, () => run.requests.resolve(args)), {
    validator: ({ as, requestId, certificates, note }: ResolveArgs) => {
      if (as !== 'filed' && as !== 'not-filed') refuse('Say filed or not-filed.');
      if (isBlank(note)) refuse('Say in a note what was looked at.');
      if (as === 'filed' && isBlank(requestId) && !certificates?.length)
        refuse('Give the request id under which it was filed, or the certificates of its rows.');
    },
  });

  setHandler(abandonUpdate, (args) => answering(run, () => run.requests.giveUp(args)), {
    validator: ({ note }: AbandonArgs) => {
      if (isBlank(note)) refuse('Say in a note why it is given up.');
    },
  });
}

/**
 * Judges and carries out what was asked, once the ledger was read. A cancel of the workflow does not take an answer
 * away.
 */
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
