import { createHash } from 'node:crypto';
import type { z } from 'zod';
import {
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import type { FilingResult } from '../../domain/contracts';
import {
  abandonArgs,
  type AbandonArgs,
  approveArgs,
  type ApproveArgs,
  resolveArgs,
  type ResolveArgs,
} from '../../domain/update-contracts';
import { partsOfAttemptId } from '../../domain/filing/attempt';
import { SECOND_PERSON } from '../../domain/filing/questions';
import { isEnd } from '../../domain/filing/states';
import { filingWorkflowId } from '../../domain/names';
import { findFiling, type FilingRecord } from '../../ledger/filings/filings';
import { forgetSetAside } from '../../ledger/set-aside';
import { countEvents } from '../../ledger/filings/filing-notes';
import { inQuestion } from '../../ledger/filings/filing-view';
import { writeGrant } from '../../ledger/principals/grants';
import { shownOfFiling, shownOfSend } from '../../ledger/principals/shown';
import { markedAt } from '../../ledger/submissions/attempts';
import { requestHolder } from '../../ledger/submissions/requests';
import { endedUnanswered, resumeOptions } from '../../temporal/filing-runs';
import type { followEndedFiling } from '../../workflows/follow-ended-filing';
import { abandonUpdate, approveUpdate, resolveUpdate } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { checkedInput, refusal } from '../errors';
import { viewOfResult, waitsForPerson, type FilingOutcome } from './outcome';
import { filingOf, needNamed, viewOf } from '../lookup';
import { followFiling, type WaitOptions } from './start';
import { answeredByWorker, silenceNotice } from '../../temporal/workers-present';

/** An update is answered when carried out; before a filing is abandoned, its calls in progress end first. */
const ANSWERED_WITHIN_MS = 120_000;

type CommandArgs = ApproveArgs | ResolveArgs | AbandonArgs;

/** An operator's command on a filing, and the end states of a filing in which its effect has already happened. */
interface Command<A extends CommandArgs> {
  update: UpdateDefinition<FilingResult, [A]>;
  takes: z.ZodType<A, A>;
  name: 'approve' | 'resolve' | 'abandon';
  doneIn: readonly string[];
  /** Whether it may be given under the name that was used. @throws RefusedError */
  judgeName?: (filing: FilingRecord, name: string) => void;
  /** Adds what only the ledger knows, and names the update so that it is carried out once. @throws RefusedError */
  prepare?: (deps: EbrcClientDependencies, filing: FilingRecord, args: A) => Promise<{ args: A; updateId: string }>;
  /** What it does to a filing that has ended; null: nothing. @throws RefusedError */
  afterEnd?: (deps: EbrcClientDependencies, filing: FilingRecord, args: A) => Promise<FilingOutcome | null>;
}

const APPROVE: Command<ApproveArgs> = {
  ...{ update: approveUpdate, takes: approveArgs, name: 'approve', doneIn: ['certified'] },
  judgeName: needNamed,
};
const RESOLVE: Command<ResolveArgs> = {
  ...{ update: resolveUpdate, takes: resolveArgs, name: 'resolve', doneIn: [] },
  ...{ prepare: prepareResolve, afterEnd: resolveAfterEnd },
};
const ABANDON: Command<AbandonArgs> = {
  ...{ update: abandonUpdate, takes: abandonArgs, name: 'abandon', doneIn: ['abandoned'] },
};

/** Commands on a filing; never "workflow not found". @throws RefusedError where it cannot be done now */
async function operate<A extends CommandArgs>(
  deps: EbrcClientDependencies,
  command: Command<A>,
  idOrReference: string,
  given: A,
  wait: WaitOptions = {},
): Promise<FilingOutcome> {
  const args = checkedInput(command.takes, { ...given, by: deps.principal?.name ?? given.by });
  const filing = await filingOf(deps, idOrReference);
  command.judgeName?.(filing, idOrReference);
  if (isEnd(filing.state)) {
    const after = command.afterEnd && (await command.afterEnd(deps, filing, args));
    return after ?? ended(deps, command, filing);
  }
  const prepared = (await command.prepare?.(deps, filing, args)) ?? {
    args: await withGrant(deps, command.name, filing, args),
  };
  const result = await send(deps, command, filing, prepared);
  if ('stands' in result) return standing(deps, filing, result.stands);
  if (wait.wait) return followFiling(deps, filing, wait);
  const view = await viewOfResult(deps, result, filing);
  return { filing: view, waitsForPerson: waitsForPerson(view), notice: null };
}

/** Approves a filing that waits in `awaiting_approval`; by somebody other than its maker. */
export const approve = (deps: EbrcClientDependencies, filing: string, args: ApproveArgs, wait?: WaitOptions) =>
  operate(deps, APPROVE, filing, args, wait);

/** Answers the question about an unknown outcome. */
export const resolve = (deps: EbrcClientDependencies, filing: string, args: ResolveArgs, wait?: WaitOptions) =>
  operate(deps, RESOLVE, filing, args, wait);

/** Gives up a filing; rows that were sent stay live, because they may still become certificates. */
export async function abandon(
  deps: EbrcClientDependencies,
  filing: string,
  args: AbandonArgs,
  wait?: WaitOptions,
): Promise<FilingOutcome> {
  const unrecorded = await giveUpUnrecorded(deps, filing);
  if (unrecorded) return unrecorded;
  const outcome = await operate(deps, ABANDON, filing, args, wait);
  await forgetSetAside(deps.pool, outcome.filing.workflowId);
  return outcome;
}

/** Gives up what was set aside before anything of it was recorded; null where the reference names no such thing. */
async function giveUpUnrecorded(deps: EbrcClientDependencies, reference: string): Promise<FilingOutcome | null> {
  const { pool, mode } = deps;
  if (await findFiling(pool, mode, reference)) return null;
  const workflowId = filingWorkflowId(mode, reference);
  const known = await forgetSetAside(pool, workflowId);
  if (!known) return null;
  const view = await viewOfResult(deps, null, { workflowId, reference, n: 1, ...known });
  const notice = `Nothing was recorded under ${reference}: it is given up, and nothing is left of it.`;
  return { filing: { ...view, state: 'refused' }, waitsForPerson: false, notice };
}

/**
 * For the attempt that the ledger shows, unless one is named. The update id is filing, attempt and answer: carried out
 * once; again after a refusal or a move.
 */
async function prepareResolve(
  deps: EbrcClientDependencies,
  filing: FilingRecord,
  args: ResolveArgs,
): Promise<{ args: ResolveArgs; updateId: string }> {
  const { pool } = deps;
  const { filingId, seq, state } = filing;
  const given = args.as === 'filed' ? args.requestId?.trim() : undefined;
  const holder = given ? await requestHolder(pool, { filingId, requestId: given }) : null;
  if (holder && holder.filingId !== filingId) {
    const text = `Request ${args.requestId} belongs to filing ${holder.filingId}: find the one of ${filingId}.`;
    throw refusal('request_taken', text, { filingId: holder.filingId });
  }
  // At the send gate rows are in question, and no send.
  const atSendGate = state === 'submitting';
  const asked = atSendGate ? { attempt: null, request: null } : await inQuestion(pool, filingId);
  const attemptId = args.attemptId ?? asked.attempt ?? undefined;
  // A request of which nothing was filed is answered for itself.
  const aboutRequest = args.as === 'not-filed' ? (args.requestId ?? asked.request ?? undefined) : args.requestId;
  if (attemptId === undefined && aboutRequest === undefined && !atSendGate) {
    const text = `Nothing of filing ${filingId} was sent: there is nothing to resolve.`;
    throw refusal('resolve_refused', text, { filingId });
  }
  const refusals = await countEvents(pool, filingId, ['resolve_refused', 'resolve_stands']);
  const { as, rows = [], certificates = [], notOurs = [], unseen = false, by } = args;
  const word = createHash('sha256')
    .update(JSON.stringify([as, aboutRequest, rows, certificates, notOurs, unseen, by, seq, refusals]))
    .digest('hex');
  const about = {
    ...(attemptId !== undefined && { attemptId }),
    ...(aboutRequest !== undefined && { requestId: aboutRequest }),
  };
  const granted = await withGrant(deps, 'resolve', filing, { ...args, ...about });
  return { args: granted, updateId: `resolve/${attemptId ?? aboutRequest ?? filingId}/${as}/${word.slice(0, 16)}` };
}

/** Rows that were abandoned after their send may be answered for: each answer is a run of its own. */
async function resolveAfterEnd(deps: EbrcClientDependencies, filing: FilingRecord, given: ResolveArgs) {
  const { filingId, exporterId, workflowId } = filing;
  const view = await viewOf(deps, filingId);
  if (!view.rows.some(({ state }) => state === 'abandoned_after_send')) return null;
  const { args, updateId } = await prepareResolve(deps, filing, given);
  const { attemptId, requestId = '' } = args;
  const about =
    attemptId === undefined ? await requestHolder(deps.pool, { filingId, requestId }) : partsOfAttemptId(attemptId);
  const submission = about?.submission ?? 1;
  const answerId = `${workflowId}/${updateId}`;
  const { refused, stands } = await answeredByWorker(deps, answerId, () =>
    deps.temporal.workflow.execute<typeof followEndedFiling>('followEndedFiling', {
      workflowId: answerId,
      taskQueue: deps.taskQueue,
      args: [{ filingId, exporterId, submissions: [], answer: { ...args, submission } }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  );
  if (refused !== null && stands) return standing(deps, filing, `${refused}.`);
  if (refused !== null) {
    throw refusal('resolve_refused', `Filing ${filingId} (${filing.state}): ${refused}.`, { filingId });
  }
  return { filing: await viewOf(deps, filingId), waitsForPerson: false, notice: null };
}

/** What a person said is noted, and carried out once somebody else says the same. */
const standing = async (
  deps: EbrcClientDependencies,
  { filingId }: FilingRecord,
  why: string,
): Promise<FilingOutcome> => ({
  ...{ filing: await viewOf(deps, filingId), waitsForPerson: true, secondPerson: true },
  notice: `Noted, and not carried out yet: ${why}`,
});

/** Answers a command on an ended filing from the ledger: its effect has either already happened or is impossible. */
async function ended<A extends CommandArgs>(
  deps: EbrcClientDependencies,
  { name, doneIn }: Command<A>,
  filing: FilingRecord,
): Promise<FilingOutcome> {
  const view = await viewOf(deps, filing.filingId);
  if (doneIn.includes(filing.state)) {
    return { filing: view, waitsForPerson: false, notice: `Filing ${filing.filingId} is already ${filing.state}.` };
  }
  const { errored, corrected } = view.counts;
  const next =
    errored > corrected ? ' Its errored rows can be filed again with `ebrc correct`.' : ' It has no open question.';
  const { filingId, state } = filing;
  const text = `Filing ${filingId} ended as ${state}: there is nothing to ${name}.${next}`;
  throw refusal('filing_ended', text, { filingId });
}

/** Sends the update; where the run is gone, with the start of one that continues the filing. */
async function send<A extends CommandArgs>(
  deps: EbrcClientDependencies,
  { update, name }: Command<A>,
  filing: FilingRecord,
  { args, updateId }: { args: A; updateId?: string },
): Promise<FilingResult | { stands: string }> {
  const { workflow } = deps.temporal;
  const { workflowId } = filing;
  const asked = { args: [args] as [A], ...(updateId === undefined ? {} : { updateId }) };
  const within = <T>(call: () => Promise<T>) => workflow.withDeadline(Date.now() + ANSWERED_WITHIN_MS, call);
  try {
    return await within(() => workflow.getHandle(workflowId).executeUpdate(update, asked)).catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      const startWorkflowOperation = new WithStartWorkflowOperation(
        'fileRemittances',
        resumeOptions(filing, deps.taskQueue),
      );
      return within(() => workflow.executeUpdateWithStart(update, { ...asked, startWorkflowOperation }));
    });
  } catch (error) {
    const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
    if (cause instanceof ApplicationFailure && cause.type === SECOND_PERSON) return { stands: cause.message };
    throw await updateRefusal(deps, error, name, filing);
  }
}

/** A validator's refusal becomes the answer to the operator; any other error is passed on. */
async function updateRefusal(deps: EbrcClientDependencies, error: unknown, name: string, filing: FilingRecord) {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    const notice = await silenceNotice(deps.temporal, deps.taskQueue);
    return new Error(`It is not certain that the ${name} arrived. ${notice}`);
  }
  if (endedUnanswered(error)) {
    return new Error(
      `It is not certain that the ${name} was carried out: the workflow was ended before it answered. \`ebrc show ${filing.filingId}\` tells.`,
    );
  }
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const why = error.cause?.message ?? error.message;
  const { filingId, state } = filing;
  return refusal(`${name}_refused`, `Filing ${filingId} (${state}): ${why}`, { filingId });
}

/** With the principal's name and grant, which is in the ledger before Temporal; unchanged for a mere name. */
async function withGrant<A extends CommandArgs>(
  { pool, principal }: Pick<EbrcClientDependencies, 'pool' | 'principal'>,
  action: 'approve' | 'resolve' | 'abandon',
  filing: FilingRecord,
  args: A,
): Promise<A> {
  if (!principal) return args;
  const { filingId, exporterId } = filing;
  const shown =
    action === 'resolve'
      ? await shownToResolve(pool, filingId, args as ResolveArgs)
      : await shownOfFiling(pool, action, filing);
  const grant = await writeGrant(pool, principal, { action, exporterId, filingId, shown });
  return { ...args, by: principal.name, grant };
}

async function shownToResolve(
  pool: EbrcClientDependencies['pool'],
  filingId: string,
  { as, attemptId, requestId, rows, certificates = [], notOurs = [], unseen = false }: ResolveArgs,
): Promise<string> {
  return shownOfSend({
    filingId,
    kind: as === 'filed' ? 'filed' : 'not_filed',
    attemptId: attemptId ?? null,
    markedAt: attemptId === undefined ? null : await markedAt(pool, attemptId),
    requestId: requestId ?? null,
    sourceRows: rows ?? null,
    certificates,
    notOurs,
    unseen,
  });
}
