/** The runs of filings in Temporal: how the newest one stands, and starting one that goes on from the ledger. */
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { ApplicationFailure, WorkflowIdConflictPolicy } from '@temporalio/common';
import { type FilingRunStatus, judgeRun, resumeInput, type ResumedFiling } from '../domain/filing/run-judgement';
import { needsAttention, type FilingState } from '../domain/filing/states';
import type { Mode } from '../domain/names';
import { searchAttributes } from '../domain/names';
import type pg from 'pg';
import type { Logger } from 'pino';
import { openFiling, recordRunProblem, type OpenFilingRun } from '../ledger/filings/open-filings';
import { isGrpcStatus } from './grpc-status';

/** Temporal's word for how a run ended, in ours. One that continued as new is not its workflow's newest run. */
const STATUS: Readonly<Record<string, FilingRunStatus['status']>> = {
  RUNNING: 'running',
  PAUSED: 'running',
  CONTINUED_AS_NEW: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed out',
};

/** The newest run, asked for: lists lag behind. @throws any other failure than "not found", which means gone */
export async function describeRun(temporal: Client, workflowId: string): Promise<FilingRunStatus> {
  try {
    const { status, raw } = await temporal.workflow.getHandle(workflowId).describe();
    // A word that this version does not know says nothing that could be acted on.
    return { status: STATUS[status.name] ?? 'running', taskAttempt: raw.pendingWorkflowTask?.attempt ?? 0 };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { status: 'gone', taskAttempt: 0 };
    throw error;
  }
}

type StartOptions = WorkflowStartOptions & { workflowIdConflictPolicy: WorkflowIdConflictPolicy };

/** Starts a filing's workflow with its search attributes, or without them where the server does not know one. */
export async function startFilingRun(
  temporal: Client,
  shown: { mode: Mode; exporterId: string; reference?: string; state: FilingState },
  options: StartOptions,
): Promise<void> {
  await withFilingAttributes(shown, options, (attributed) => temporal.workflow.start('fileRemittances', attributed));
}

/** Makes a start with what the filing shows in lists; without it, where the server refuses it. */
export async function withFilingAttributes<T>(
  shown: { mode: Mode; exporterId: string; reference?: string; state: FilingState },
  options: StartOptions,
  start: (options: StartOptions) => Promise<T>,
): Promise<T> {
  const typedSearchAttributes = searchAttributes({ ...shown, needsAttention: needsAttention(shown.state) });
  try {
    return await start({ ...options, typedSearchAttributes });
  } catch (error) {
    // The start of an update-with-start fails with the server's answer as its cause.
    if (!isGrpcStatus(error, 'INVALID_ARGUMENT')) throw error;
    return start(options);
  }
}

/** How a run that goes on from the ledger is started; where one is running, that one is meant. */
export function resumeOptions(filing: ResumedFiling & { workflowId: string }, taskQueue: string) {
  return {
    workflowId: filing.workflowId,
    taskQueue,
    args: [resumeInput(filing)],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  };
}

export interface CheckRunDependencies {
  pool: pg.Pool;
  temporal: Client;
  /** The main queue, on which filings run. */
  taskQueue: string;
  logger: Logger;
  clock: () => number;
}

/**
 * Starts a new run where something may have been sent; else waits for a person, who may have stopped it on purpose.
 * Safe at once.
 * @throws if Temporal cannot be queried: nothing is concluded
 */
export async function checkRun(
  deps: CheckRunDependencies,
  filing: OpenFilingRun,
): Promise<{ resumed: boolean; reported: boolean; why: string | null }> {
  const { pool, temporal, taskQueue, logger, clock } = deps;
  const { filingId, seq } = filing;
  const now = new Date(clock());
  const verdict = judgeRun(filing, await describeRun(temporal, filing.workflowId), now);
  if (verdict.action === 'report') {
    const { problem } = verdict;
    const reported = await recordRunProblem(pool, { filingId, seq, problem, at: now });
    if (reported && problem)
      logger.warn({ filingId, workflowId: filing.workflowId, problem }, 'a filing needs attention');
    return { resumed: false, reported, why: problem };
  }
  // The filing may have moved or ended since it was read; then its run was not lost.
  if ((await openFiling(pool, filingId))?.seq !== seq) return { resumed: false, reported: false, why: null };
  logger.warn(
    { filingId, workflowId: filing.workflowId, why: verdict.why },
    'a new run was started for a filing that had lost its run',
  );
  await startFilingRun(temporal, filing, resumeOptions(filing, taskQueue));
  return { resumed: true, reported: false, why: verdict.why };
}

/** Whether the run of an update was ended, by an operator say, before it answered: nothing was refused. */
export function endedUnanswered(error: unknown): boolean {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === 'AcceptedUpdateCompletedWorkflow';
}
