/** Runs of filings in Temporal: starting and waking them, and what became of the newest one. */
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { filingName, searchAttributes, type Mode } from '../domain/names';
import { counted, markdownText, summaryText } from '../domain/text';
import { retriedCalls, type RetriedCall } from './failing';
import { isGrpcStatus } from './grpc-status';

/** The workflow type and the one signal of filings. */
export const FILING_WORKFLOW = 'fileRemittances';
const POKE = 'poke';

/** What a filing's run is started with and shown as. */
export interface FilingRun {
  workflowId: string;
  mode: Mode;
  exporterId: string;
  /** Undefined: it is made from the content. */
  reference?: string;
  n: number;
  /** For its title in the Temporal UI, where they are known. */
  rows?: number;
  exporterName?: string | null;
  /** Its state in the ledger; undefined: the ledger has not recorded it. It may then not be shown as recorded. */
  state?: string;
}

/** A filing of the ledger whose run is started or woken. */
export interface RecordedFiling extends FilingRun {
  filingId: string;
  reference: string;
  state: string;
}

/**
 * Starts `fileRemittances` with an input, with the filing's name in the UI and search attributes, or without these
 * where the server does not know one. What stands under a reference is the ledger's to say: ids of ended runs are used
 * again. A running one is left as it is, or terminated if asked.
 * @returns whether a run was started
 */
export async function startWith(
  temporal: Client,
  taskQueue: string,
  filing: FilingRun,
  input: object,
  { terminate = false }: { terminate?: boolean } = {},
): Promise<boolean> {
  const { workflowId, mode, exporterId, reference, state } = filing;
  const options = {
    workflowId,
    taskQueue,
    args: [input],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: terminate ? 'TERMINATE_EXISTING' : 'FAIL',
    ...textsOf(filing),
  } as const;
  const typedSearchAttributes = searchAttributes({ mode, exporterId, reference, state });
  try {
    await temporal.workflow.start(FILING_WORKFLOW, { ...options, typedSearchAttributes }).catch((error: unknown) => {
      if (!isGrpcStatus(error, 'INVALID_ARGUMENT')) throw error;
      return temporal.workflow.start(FILING_WORKFLOW, options);
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** "3 rows, Kaveri Softworks, JULY", and where to read on. */
function textsOf({ rows, exporterName, exporterId, mode, reference, n }: FilingRun) {
  const name = reference === undefined ? null : filingName({ reference, n });
  const whose = exporterName ?? exporterId;
  const size = rows === undefined ? [] : [counted(rows, 'row')];
  const details = [
    `**${size[0] ?? 'A filing'}** of ${markdownText(whose)} (exporter ${markdownText(exporterId)}, ${mode} mode)`,
    `Reference: ${name === null ? 'made from the content' : markdownText(name)}`,
    `All of it: \`ebrc show ${markdownText(name ?? 'FILING')}\`. Its run asks the ledger what is next; terminating or resetting it files nothing twice.`,
  ];
  return {
    staticSummary: summaryText([...size, whose, ...(name === null ? [] : [name])].join(', ')),
    staticDetails: details.join('\n\n'),
  };
}

/** Starts a run of a recorded filing, which goes on from the ledger. @returns false: it has one */
export function startRun(
  temporal: Client,
  taskQueue: string,
  filing: RecordedFiling,
  options: { terminate?: boolean } = {},
): Promise<boolean> {
  const { mode, exporterId, reference, n, filingId } = filing;
  return startWith(temporal, taskQueue, filing, { mode, exporterId, reference, n, resume: filingId }, options);
}

/** Wakes a filing's run. @returns false: none is running */
export async function poke(temporal: Client, workflowId: string): Promise<boolean> {
  try {
    await temporal.workflow.getHandle(workflowId).signal(POKE);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Wakes a filing's run, or starts one where none is running. */
export async function pokeOrStart(temporal: Client, taskQueue: string, filing: RecordedFiling): Promise<void> {
  // Between the two somebody else may have started one, which reads the ledger at its start.
  if (!(await poke(temporal, filing.workflowId))) await startRun(temporal, taskQueue, filing);
}

/** Temporal's execution statuses in our terms. A run that continued as new has a newer one, so it counts as running. */
const STATUS = {
  RUNNING: 'running',
  PAUSED: 'running',
  CONTINUED_AS_NEW: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed out',
} as const;

export interface RunStatus {
  /** `gone`: Temporal knows no run of this id. */
  status: (typeof STATUS)[keyof typeof STATUS] | 'gone';
  /** How often the pending workflow task was tried; 0: none is pending. */
  taskAttempt: number;
  /** The task queue on which it runs. */
  taskQueue?: string;
  calls: RetriedCall[];
}

/** Describes the newest run of a workflow id, because lists lag behind. @throws whatever is not "not found" */
export async function describeRun(temporal: Client, workflowId: string): Promise<RunStatus> {
  try {
    const { status, taskQueue, raw } = await temporal.workflow.getHandle(workflowId).describe();
    // An unknown status counts as running, because nothing may be concluded from it.
    const known = STATUS[status.name as keyof typeof STATUS] ?? 'running';
    const calls = await retriedCalls(temporal, raw.pendingActivities ?? []);
    return { status: known, taskQueue, taskAttempt: raw.pendingWorkflowTask?.attempt ?? 0, calls };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { status: 'gone', taskAttempt: 0, calls: [] };
    throw error;
  }
}
