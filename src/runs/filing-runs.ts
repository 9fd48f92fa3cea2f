/** The runs of filings in Temporal: how the newest one stands, and starting one that goes on from the ledger. */
import {
  isGrpcServiceError,
  ServiceError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { WorkflowIdConflictPolicy } from '@temporalio/common';
import type { FilingRunStatus } from '../domain/filing/run-judgement';
import { needsAttention, type FilingState } from '../domain/filing/states';
import type { Mode } from '../domain/names';
import { searchAttributes } from '../workflows/search-attributes';
import { resumeInput, type ResumedFiling } from '../domain/filing/resume-input';

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

/**
 * How the newest run of a workflow stands, by asking for it: lists lag behind, and leave out what they cannot index.
 * @throws whatever keeps the server from answering; only its word "not found" means that the run is gone
 */
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

/**
 * Starts a filing's workflow with what it shows in lists, which costs nothing then. A server that does not know one of
 * the attributes refuses the start: it is made without them.
 */
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
    // The start of an update-with-start fails with the server's word as its cause.
    const said = error instanceof ServiceError ? error.cause : error;
    if (!isGrpcServiceError(said) || Number(said.code) !== INVALID_ARGUMENT) throw error;
    return start(options);
  }
}

/** gRPC status `INVALID_ARGUMENT`. */
const INVALID_ARGUMENT = 3;

/** How a run that goes on from the ledger is started; where one is running, that one is meant. */
export function resumeOptions(filing: ResumedFiling & { workflowId: string }, taskQueue: string) {
  return {
    workflowId: filing.workflowId,
    taskQueue,
    args: [resumeInput(filing)],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  };
}
