/** What people and other workflows may ask of a running filing. */
import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../domain/contracts';
import { isEnd } from '../domain/filing-states';
import { abandonUpdate, approveUpdate, credentialsRenewedSignal, filingQuery, resolveUpdate } from './messages';
import type { FilingRun } from './filing-run';

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

  setHandler(
    approveUpdate,
    async (args) => {
      run.approval = args;
      await condition(() => run.state !== 'awaiting_approval');
      return run.result();
    },
    {
      validator: ({ by }: ApproveArgs) => {
        if (run.state !== 'awaiting_approval') refuse(`The filing is ${run.state}; there is nothing to approve.`);
        if (by === run.filing?.madeBy) refuse(`${by} made this filing; somebody else has to approve it.`);
      },
    },
  );

  setHandler(
    resolveUpdate,
    async (args) => {
      run.resolution = args;
      await condition(() => run.resolution !== args);
      if (run.refusedResolution?.args === args) refuse(run.refusedResolution.message);
      return run.result();
    },
    {
      validator: ({ as, requestId, note }: ResolveArgs) => {
        if (run.state !== 'outcome_unknown' && run.state !== 'overdue') {
          refuse(`The filing is ${run.state}; resolve is for outcome_unknown and overdue.`);
        }
        if (run.resolution) refuse('Another resolve is being worked on.');
        if (note.trim() === '') refuse('Say in a note what was looked at.');
        if (as === 'filed' && !requestId?.trim()) refuse('Give the request id under which it was filed.');
        if (as === 'not-filed' && run.state === 'overdue') {
          refuse(`The service acknowledged this filing (request ${run.requestId ?? 'unknown'}), so it was filed.`);
        }
      },
    },
  );

  setHandler(
    abandonUpdate,
    async (args) => {
      run.abandon = args;
      await condition(() => isEnd(run.state));
      return run.result();
    },
    {
      validator: ({ note }: AbandonArgs) => {
        if (isEnd(run.state)) refuse(`The filing has ended: ${run.state}.`);
        if (note.trim() === '') refuse('Say in a note why it is given up.');
      },
    },
  );
}
