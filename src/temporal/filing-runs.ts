/** Runs of filings in Temporal: the status of the newest one, and starting one that continues from the ledger. */
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { ApplicationFailure, WorkflowIdConflictPolicy } from '@temporalio/common';
import { type FilingRunStatus, judgeRun, type ResumedFiling, resumeInput } from '../domain/filing/run-judgement';
import { needsAttention, type FilingState } from '../domain/filing/states';
import type { Mode } from '../domain/names';
import { searchAttributes } from '../domain/names';
import type pg from 'pg';
import type { Logger } from 'pino';
import { openFiling, recordRunProblem, type OpenFilingRun } from '../ledger/filings/open-filings';
import { isGrpcStatus } from './grpc-status';

/** Temporal's execution statuses in our terms. A run that continued as new has a newer one, so it counts as running. */
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

/** Describes the newest run, because lists lag behind. "Not found" gives `gone`. @throws any other failure */
export async function describeRun(
  temporal: Client,
  workflowId: string,
): Promise<FilingRunStatus & { taskQueue?: string }> {
  try {
    const { status, taskQueue, raw } = await temporal.workflow.getHandle(workflowId).describe();
    // Treat an unknown status as running, because nothing may be concluded from it.
    return { status: STATUS[status.name] ?? 'running', taskQueue, taskAttempt: raw.pendingWorkflowTask?.attempt ?? 0 };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { status: 'gone', taskAttempt: 0 };
    throw error;
  }
}

type StartOptions = WorkflowStartOptions & { workflowIdConflictPolicy: WorkflowIdConflictPolicy };

/** Starts a filing's workflow with its search attributes, or without them if the server does not know one. */
export async function startFilingRun(
  temporal: Client,
  shown: { mode: Mode; exporterId: string; reference?: string; state: FilingState },
  options: StartOptions,
): Promise<void> {
  await withFilingAttributes(shown, options, (attributed) => temporal.workflow.start('fileRemittances', attributed));
}

/** Makes a start with the filing's search attributes; if the server refuses them, without. */
export async function withFilingAttributes<T>(
  shown: { mode: Mode; exporterId: string; reference?: string; state: FilingState },
  options: StartOptions,
  start: (options: StartOptions) => Promise<T>,
): Promise<T> {
  const typedSearchAttributes = searchAttributes({ ...shown, needsAttention: needsAttention(shown.state) });
  try {
    return await start({ ...options, typedSearchAttributes });
  } catch (error) {
    // `isGrpcStatus` also finds the status that an update-with-start has as its error's cause.
    if (!isGrpcStatus(error, 'INVALID_ARGUMENT')) throw error;
    return start(options);
  }
}

/** Start options of a run that continues from the ledger. A running one is used. */
export function resumeOptions(filing: ResumedFiling & { workflowId: string }, taskQueue: string) {
  return {
    workflowId: filing.workflowId,
    taskQueue,
    args: [resumeInput(filing)],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  };
}

/**
 * Checks a filing's run. If it is lost, starts a new one if something may have been sent; otherwise reports a problem,
 * because a person may have stopped it on purpose. May run concurrently. @throws if Temporal cannot be queried
 */
export async function checkRun(
  deps: {
    pool: pg.Pool;
    temporal: Client;
    /** The main task queue, on which filings run. */
    taskQueue: string;
    logger: Logger;
    clock: () => number;
  },
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
  // If the filing moved or ended since it was read, its run was not lost.
  if ((await openFiling(pool, filingId))?.seq !== seq) return { resumed: false, reported: false, why: null };
  logger.warn(
    { filingId, workflowId: filing.workflowId, why: verdict.why },
    'a new run was started for a filing that had lost its run',
  );
  await startFilingRun(temporal, filing, resumeOptions(filing, taskQueue));
  return { resumed: true, reported: false, why: verdict.why };
}

/** Whether an update's run was ended, for instance by an operator, before it answered: nothing was refused. */
export function endedUnanswered(error: unknown): boolean {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === 'AcceptedUpdateCompletedWorkflow';
}
