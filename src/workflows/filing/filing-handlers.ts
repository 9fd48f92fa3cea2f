/**
 * What people and other workflows may ask of a running filing. Validators look at what was asked alone; whether it fits
 * the filing is judged once the ledger was read, because a run may be started by the very update that it answers.
 */
import { ApplicationFailure, CancellationScope, condition, setHandler } from '@temporalio/workflow';
import type { AbandonArgs, ApproveArgs, FilingResult, ResolveArgs } from '../../domain/contracts';
import { isEnd } from '../../domain/filing/states';
import { personKey } from '../../domain/person';
import {
  abandonUpdate,
  answerStoredSignal,
  approveUpdate,
  credentialsRenewedSignal,
  filingQuery,
  resolveUpdate,
} from '../messages';
import type { FilingRun } from './filing-run';
import { keepWish } from './wishes';

function refuse(message: string): never {
  throw ApplicationFailure.nonRetryable(message, 'refused');
}

/** Registers every handler; must run before the workflow waits for anything. */
export function handleFilingMessages(run: FilingRun): void {
  setHandler(filingQuery, () => run.result());

  // Anybody may send a signal, and one that cannot be read must not stop the filing: it stands in the history for ever.
  setHandler(credentialsRenewedSignal, (renewed: { version: number } | null | undefined) => {
    const version = renewed?.version;
    if (typeof version === 'number') run.renewedCredentials = Math.max(run.renewedCredentials, version);
  });

  // What the answer says stands in the ledger, which is read when a wait ends.
  setHandler(answerStoredSignal, () => {
    run.lateAnswers += 1;
  });

  setHandler(approveUpdate, (args) => answering(run, () => approve(run, args)), {
    validator: ({ by }: ApproveArgs) => {
      if (personKey(by) === '') refuse('Say who approves.');
    },
  });

  setHandler(resolveUpdate, (args) => answering(run, () => resolve(run, args)), {
    validator: ({ as, requestId, note }: ResolveArgs) => {
      if (as !== 'filed' && as !== 'not-filed') refuse('Say filed or not-filed.');
      if (isBlank(note)) refuse('Say in a note what was looked at.');
      if (as === 'filed' && isBlank(requestId)) refuse('Give the request id under which it was filed.');
    },
  });

  setHandler(abandonUpdate, (args) => answering(run, () => abandon(run, args)), {
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

async function approve(run: FilingRun, args: ApproveArgs): Promise<void> {
  if (run.state !== 'awaiting_approval') refuse(`The filing is ${run.state}; there is nothing to approve.`);
  if (personKey(args.by) === personKey(run.filing?.madeBy)) {
    refuse(`${args.by} made this filing; somebody else has to approve it.`);
  }
  await keepWish(run, 'approve', args);
  run.approval ??= args;
  await condition(() => run.state !== 'awaiting_approval');
}

async function resolve(run: FilingRun, args: ResolveArgs): Promise<void> {
  judgeResolve(run, args);
  if (run.resolution) refuse('Another resolve is being worked on.');
  // Before it is kept: a call that the run schedules in the meantime would be cancelled in the task that schedules it.
  run.resolution = args;
  try {
    await keepWish(run, 'resolve', args);
  } catch (error) {
    if (run.resolution === args) run.resolution = null;
    throw error;
  }
  await condition(() => run.resolution !== args);
  if (run.refusedResolution?.args === args) refuse(run.refusedResolution.message);
}

function judgeResolve(run: FilingRun, { as, attemptId }: ResolveArgs): void {
  if (run.state !== 'outcome_unknown' && run.state !== 'overdue') {
    refuse(`The filing is ${run.state}; resolve is for outcome_unknown and overdue.`);
  }
  if (attemptId !== run.inQuestion) {
    const shown = run.inQuestion ?? 'none yet';
    refuse(
      attemptId === undefined
        ? `Name the attempt that is answered for (${shown}): attemptId, as the filing shows it in "attempt".`
        : `${attemptId} is not the attempt in question (${shown}): look at the filing again.`,
    );
  }
  if (run.state === 'overdue' && as === 'not-filed') {
    refuse(`The service acknowledged this filing (request ${run.requestId ?? 'unknown'}), so it was filed.`);
  }
  if (run.state === 'overdue' && !run.following) {
    refuse(
      'The authority has answered for its requests; only certificates are missing, so there is nothing to resolve.',
    );
  }
}

async function abandon(run: FilingRun, args: AbandonArgs): Promise<void> {
  if (isEnd(run.state)) refuse(`The filing has ended: ${run.state}.`);
  // Before it is kept: a call that the run schedules in the meantime would be cancelled in the task that schedules it.
  run.abandon = args;
  await keepWish(run, 'abandon', args);
  await condition(() => isEnd(run.state));
}

function isBlank(text: unknown): boolean {
  return typeof text !== 'string' || text.trim() === '';
}
