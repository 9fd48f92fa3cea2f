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
import { readSent } from '../../ledger/submissions/lost-time';
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

/** An update is answered once it is carried out; `abandon` first waits for the filing's calls in progress. */
const ANSWERED_WITHIN_MS = 120_000;

type CommandArgs = ApproveArgs | ResolveArgs | AbandonArgs;

/** An operator's command on a filing. `doneIn`: end states in which its effect has already happened. */
interface Command<A extends CommandArgs> {
  update: UpdateDefinition<FilingResult, [A]>;
  takes: z.ZodType<A, A>;
  name: 'approve' | 'resolve' | 'abandon';
  doneIn: readonly string[];
  /** Checks whether the name given for the filing is exact enough. @throws RefusedError */
  judgeName?: (filing: FilingRecord, name: string) => void;
  /** Adds what only the ledger knows, and an update id that lets a repeated command act once. @throws RefusedError */
  prepare?: (deps: EbrcClientDependencies, filing: FilingRecord, args: A) => Promise<{ args: A; updateId: string }>;
  /** Carries the command out on an ended filing; null if there is nothing to do. @throws RefusedError */
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

/** Carries out a command, whether or not the workflow is running. @throws RefusedError if it is not possible now */
async function carryOut<A extends CommandArgs>(
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
    return after ?? answerEnded(deps, command, filing);
  }
  const prepared = (await command.prepare?.(deps, filing, args)) ?? {
    args: await withGrant(deps, command.name, filing, args),
  };
  const result = await sendUpdate(deps, command, filing, prepared);
  if ('stands' in result) return recordedOutcome(deps, filing, result.stands);
  if (wait.wait) return followFiling(deps, filing, wait);
  const view = await viewOfResult(deps, result, filing);
  return { filing: view, waitsForPerson: waitsForPerson(view), notice: null };
}

/** Approves a filing in `awaiting_approval`. Its maker may not do that. */
export const approve = (deps: EbrcClientDependencies, filing: string, args: ApproveArgs, wait?: WaitOptions) =>
  carryOut(deps, APPROVE, filing, args, wait);

/** Answers the question about an unknown outcome. */
export const resolve = (deps: EbrcClientDependencies, filing: string, args: ResolveArgs, wait?: WaitOptions) =>
  carryOut(deps, RESOLVE, filing, args, wait);

/** Abandons a filing. Rows that were sent stay live, because they may still become certificates. */
export async function abandon(
  deps: EbrcClientDependencies,
  filing: string,
  args: AbandonArgs,
  wait?: WaitOptions,
): Promise<FilingOutcome> {
  const unrecorded = await giveUpUnrecorded(deps, filing);
  if (unrecorded) return unrecorded;
  const outcome = await carryOut(deps, ABANDON, filing, args, wait);
  await forgetSetAside(deps.pool, outcome.filing.workflowId);
  return outcome;
}

/** Gives up a filing that was set aside before anything was recorded; null if the reference names no such filing. */
async function giveUpUnrecorded(deps: EbrcClientDependencies, reference: string): Promise<FilingOutcome | null> {
  const { pool, mode } = deps;
  if (await findFiling(pool, mode, reference)) return null;
  const workflowId = filingWorkflowId(mode, reference);
  const setAside = await forgetSetAside(pool, workflowId);
  if (!setAside) return null;
  const view = await viewOfResult(deps, null, { workflowId, reference, n: 1, ...setAside });
  const notice = `Nothing was recorded under ${reference}. It is given up, and nothing remains of it.`;
  return { filing: { ...view, state: 'refused' }, waitsForPerson: false, notice };
}

/**
 * Fills in the attempt in question, unless the caller names one. The update id makes a repeated answer take effect
 * once; after a refusal, or once the filing has moved, the same answer gets a new id.
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
  // In `submitting` the send gate asks about rows, not about a send.
  const atSendGate = state === 'submitting';
  const asked = atSendGate ? { attempt: null, request: null } : await inQuestion(pool, filingId);
  const attemptId = args.attemptId ?? asked.attempt ?? undefined;
  // `not-filed` may be said about a request instead of an attempt.
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

/** Answers for rows that were abandoned after the send, in a workflow of its own; null if the filing has none. */
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
  if (refused !== null && stands) return recordedOutcome(deps, filing, `${refused}.`);
  if (refused !== null) {
    throw refusal('resolve_refused', `Filing ${filingId} (${filing.state}): ${refused}.`, { filingId });
  }
  return { filing: await viewOf(deps, filingId), waitsForPerson: false, notice: null };
}

/** The outcome of a statement that is recorded, and carried out once a second person says the same. */
const recordedOutcome = async (
  deps: EbrcClientDependencies,
  { filingId }: FilingRecord,
  why: string,
): Promise<FilingOutcome> => ({
  ...{ filing: await viewOf(deps, filingId), waitsForPerson: true, secondPerson: true },
  notice: `Noted, and not carried out yet: ${why}`,
});

/** Answers a command on an ended filing from the ledger: either its effect has already happened, or it is refused. */
async function answerEnded<A extends CommandArgs>(
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

/** Sends the update; if no workflow runs, together with the start of one that continues the filing. */
async function sendUpdate<A extends CommandArgs>(
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

/** The operator's error for a failed update: a validator's refusal with its reason; other errors are unchanged. */
async function updateRefusal(deps: EbrcClientDependencies, error: unknown, name: string, filing: FilingRecord) {
  const unanswered =
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError
      ? await silenceNotice(deps.temporal, deps.taskQueue, filing.workflowId)
      : endedUnanswered(error) && `Its workflow was ended before it answered: see \`ebrc show ${filing.filingId}\`.`;
  if (unanswered !== false) return new Error(`It is not certain that the ${name} was carried out. ${unanswered}`);
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const why = error.cause?.message ?? error.message;
  const { filingId, state } = filing;
  return refusal(`${name}_refused`, `Filing ${filingId} (${state}): ${why}`, { filingId });
}

/** Adds the principal's name and grant, which the ledger has before Temporal; without a principal, nothing. */
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
    markedAt: attemptId === undefined ? null : ((await readSent(pool, attemptId))?.markedAt ?? null),
    requestId: requestId ?? null,
    sourceRows: rows ?? null,
    certificates,
    notOurs,
    unseen,
  });
}
