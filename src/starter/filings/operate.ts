import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type WorkflowHandle,
} from '@temporalio/client';
import { WorkflowIdConflictPolicy, type UpdateDefinition } from '@temporalio/common';
import type { AbandonArgs, ApproveArgs, FilingResult, ResolveArgs } from '../../domain/contracts';
import { isEnd } from '../../domain/filing-states';
import type { FilingRecord } from '../../ledger/filings';
import { filingOfRequest } from '../../ledger/submissions';
import { abandonUpdate, approveUpdate, filingQuery, resolveUpdate } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { refusal } from '../errors';
import { viewOfResult, waitsForPerson, type FilingOutcome } from './outcome';
import { follow } from '../temporal/follow';
import { filingOf, withPaths } from './lookup';
import { followFiling, type WaitOptions } from './start';
import { silenceNotice } from '../temporal/workers-present';

/** An update is answered when it has been carried out; a filing that is given up first lets its calls end. */
const ANSWERED_WITHIN_MS = 120_000;

/** What an operator does to a filing, and the states of an ended filing in which it has happened already. */
interface Command<A> {
  update: UpdateDefinition<FilingResult, [A]>;
  name: string;
  doneIn: readonly string[];
  /** What the ledger has to say against it. @throws RefusedError */
  check?: (deps: EbrcClientDependencies, filing: FilingRecord, args: A) => Promise<void>;
}

const APPROVE: Command<ApproveArgs> = { update: approveUpdate, name: 'approve', doneIn: ['certified'] };
const RESOLVE: Command<ResolveArgs> = { update: resolveUpdate, name: 'resolve', doneIn: [], check: refuseTakenRequest };
const ABANDON: Command<AbandonArgs> = { update: abandonUpdate, name: 'abandon', doneIn: ['abandoned'] };

/** The commands of an operator on a filing, named by its id or reference. They never answer "workflow not found". */
export interface FilingOperations {
  /** Lets a filing go on that waits in `awaiting_approval`; by somebody other than its maker. */
  approve(filing: string, args: ApproveArgs, wait?: WaitOptions): Promise<FilingOutcome>;
  /** Answers the question of an unknown outcome. */
  resolve(filing: string, args: ResolveArgs, wait?: WaitOptions): Promise<FilingOutcome>;
  /** Gives a filing up; rows that were sent stay live, because they may still become certificates. */
  abandon(filing: string, args: AbandonArgs, wait?: WaitOptions): Promise<FilingOutcome>;
}

export function createFilingOperations(deps: EbrcClientDependencies): FilingOperations {
  async function operate<A>(command: Command<A>, idOrReference: string, args: A, wait: WaitOptions = {}) {
    const filing = await filingOf(deps, idOrReference);
    if (isEnd(filing.state)) return ended(deps, command, filing);
    await command.check?.(deps, filing, args);
    const started = { workflowId: filing.workflowId, reference: filing.reference, exporterId: filing.exporterId };
    const result = await send(deps, command, filing, args);
    if (wait.wait) return followFiling(deps, started, wait);
    const view = withPaths(deps, await viewOfResult(deps.pool, result, started));
    return { filing: view, waitsForPerson: waitsForPerson(view), notice: null };
  }
  return {
    approve: (filing, args, wait) => operate(APPROVE, filing, args, wait),
    resolve: (filing, args, wait) => operate(RESOLVE, filing, args, wait),
    abandon: (filing, args, wait) => operate(ABANDON, filing, args, wait),
  };
}

/** A request files one submission: under the id of another filing's, that one's outcome would be taken for this one's. */
async function refuseTakenRequest(
  { pool, mode }: EbrcClientDependencies,
  { filingId }: FilingRecord,
  { requestId }: ResolveArgs,
): Promise<void> {
  const holder = requestId ? await filingOfRequest(pool, { mode, requestId: requestId.trim() }) : null;
  if (holder === null || holder === filingId) return;
  throw refusal(
    'request_taken',
    `Request ${requestId} is the one of filing ${holder}: look for the one of ${filingId}.`,
    {
      filingId: holder,
    },
  );
}

/** An ended filing is answered from the ledger: its story is over, and what is asked for either happened or cannot. */
async function ended<A>(
  deps: EbrcClientDependencies,
  { name, doneIn }: Command<A>,
  filing: FilingRecord,
): Promise<FilingOutcome> {
  const view = withPaths(deps, await viewOfResult(deps.pool, resultOf(filing), filing));
  if (doneIn.includes(filing.state)) {
    return { filing: view, waitsForPerson: false, notice: `Filing ${filing.filingId} is ${filing.state} already.` };
  }
  const next =
    view.counts.errored > 0
      ? ' Its errored rows can be filed again with `ebrc correct`.'
      : ' Nothing waits for an answer in it.';
  throw refusal(
    'filing_ended',
    `Filing ${filing.filingId} ended as ${filing.state}: there is nothing to ${name}.${next}`,
    {
      filingId: filing.filingId,
    },
  );
}

function resultOf(filing: FilingRecord): FilingResult {
  return {
    filingId: filing.filingId,
    workflowId: filing.workflowId,
    reference: filing.reference,
    state: filing.state,
    requestId: null,
    dgftAckId: null,
    counts: { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 },
    attention: filing.attention,
    asked: filing.asked,
    seq: filing.seq,
    errors: [],
  };
}

/** Sends the update; to a run that takes the filing up again where its own is gone (terminated, or past its retention). */
async function send<A>(
  deps: EbrcClientDependencies,
  { update, name }: Command<A>,
  filing: FilingRecord,
  args: A,
): Promise<FilingResult> {
  const { workflow } = deps.temporal;
  const handle: WorkflowHandle = workflow.getHandle(filing.workflowId);
  const execute = () =>
    workflow.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => handle.executeUpdate(update, { args: [args] }));
  try {
    return await execute().catch(async (error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      await takeUpAgain(deps, filing);
      return execute();
    });
  } catch (error) {
    throw await updateRefusal(deps, error, name, filing);
  }
}

/** Starts a run that goes on from the ledger, and waits until it has read it: before that it would refuse every update. */
async function takeUpAgain(deps: EbrcClientDependencies, filing: FilingRecord): Promise<void> {
  const { mode, exporterId, reference, madeBy, correction, filingId, workflowId } = filing;
  await deps.temporal.workflow.start('fileRemittances', {
    workflowId,
    taskQueue: deps.taskQueue,
    args: [{ mode, exporterId, reference, madeBy, correction, resume: filingId }],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    memo: { contentHash: filing.contentHash },
  });
  await follow(deps.temporal, workflowId, {
    query: filingQuery,
    until: (progress) => progress.filingId !== null,
    withinMs: ANSWERED_WITHIN_MS,
  });
}

/** A validator's refusal is the answer to the operator; anything else is what it is. */
async function updateRefusal(
  deps: EbrcClientDependencies,
  error: unknown,
  name: string,
  filing: FilingRecord,
): Promise<unknown> {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new Error(
      `It is not certain that the ${name} arrived. ${await silenceNotice(deps.temporal, deps.taskQueue)}`,
    );
  }
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const why = error.cause?.message ?? error.message;
  return refusal(`${name}_refused`, `Filing ${filing.filingId} (${filing.state}): ${why}`, {
    filingId: filing.filingId,
  });
}
