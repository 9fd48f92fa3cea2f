import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowIdConflictPolicy } from '@temporalio/common';
import { fileInput, type FileInput, type FilingResult } from '../../domain/contracts';
import type { UploadType } from '../../domain/rules/columns';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import { isDoubtful, type Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import { filingWorkflowId } from '../../domain/names';
import type { FilingView } from '../../domain/filing/view';
import { contentHashOf, referenceOf, saveInput } from '../../ledger/filings/filing-inputs';
import { writeGrant } from '../../ledger/principals/grants';
import { shownToFile } from '../../ledger/principals/shown';
import { balanceFindings } from '../../ledger/rows/balance-reservation';
import { filingOfReference } from '../../ledger/filings/filings';
import { referenceTaken } from '../../ledger/filings/reference';
import { endedUnanswered, withFilingAttributes } from '../../temporal/filing-runs';
import { fileUpdate, filingQuery } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { checkedInput, refusal, RefusedError } from '../errors';
import type { FilingFile } from './read-file';
import { viewOfResult, waitsForPerson, type FilingOutcome } from './outcome';
import { follow } from '../../temporal/follow';
import { answeredByWorker, TEMPORAL_SILENT, TemporalSilentError } from '../../temporal/workers-present';

/** How long a caller that does not wait is kept until the filing is recorded and checked, or refused. */
const RECORDED_WITHIN_MS = 20_000;
/** A refused run ends at once. A request that met it is repeated after this time. */
const RUN_ENDS_WITHIN_MS = 500;
const MAX_ASKS = 10;

/** A filing's options, as the caller gives them. */
export interface FilingTerms {
  /** The caller's name for the filing; default: derived from its content. */
  reference?: string;
  channel?: 'auto' | 'push' | 'bulk';
  madeBy: string;
  /** Wait for the approval of another person. */
  approval?: boolean;
  /** The filing's number under its reference; to file a reference again, the next number. Default 1. */
  n?: number;
  /** Rows that may be filed although their mapping is live; a push message may have its own. */
  allowDuplicate?: PermittedDuplicate[];
}

export interface PreparedFiling extends FilingTerms {
  exporterId: string;
  rows: MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  file: Pick<FilingFile, 'kind' | 'name' | 'bytes' | 'sheet'>;
  warnings: Finding[];
  /** Id of the filing that is corrected. */
  corrects?: string;
}

/** Whether and how the caller waits. */
export interface WaitOptions {
  /** Wait until the filing ends or needs a person; otherwise until it is recorded. */
  wait?: boolean;
  /** Called before a start if warnings say that rows would be rejected or certified twice. To stop, throw. */
  onDoubtful?: (warnings: Finding[]) => Promise<void>;
  onProgress?: (progress: FilingResult) => void;
  onNotice?: (notice: string) => void;
}

/**
 * Starts `fileRemittances` with its update `file`, or joins its run; a recorded filing is answered from the ledger.
 * @throws RefusedError if the reference has different content
 */
export async function startFiling(
  deps: EbrcClientDependencies,
  filing: PreparedFiling,
  options: WaitOptions,
): Promise<FilingOutcome> {
  const contentHash = contentHashOf(filing);
  const reference = filing.reference ?? referenceOf(contentHash, filing.allowDuplicate);
  const { n = 1, exporterId } = filing;
  const workflowId = filingWorkflowId(deps.mode, reference, n);
  const before = await filingOfReference(deps.pool, { mode: deps.mode, reference, n });
  // A filing that is already recorded is only looked up, so nothing is asked.
  if (options.onDoubtful && !before) await stopDoubtful(deps, filing, options.onDoubtful);
  const input = await inputOf(deps, filing, { reference, contentHash });
  const started = { workflowId, reference, n, exporterId };
  const answer = await requestFiling(deps, started, input);
  if (answer?.state !== 'refused') {
    // The recorded filing may run under a workflow id that its caller chose.
    const outcome = await followFiling(deps, { ...started, workflowId: answer?.workflowId ?? workflowId }, options);
    if (answer === null) await refuseOtherContent(deps, outcome.filing, contentHash);
    const alreadyFiled = before && `Filed before as ${before.filingId}: nothing new was sent.`;
    return { ...outcome, notice: outcome.notice ?? alreadyFiled, repeated: before !== null };
  }
  const view = await viewOfResult(deps, answer, started);
  return { filing: view, waitsForPerson: false, notice: null };
}

async function stopDoubtful(
  { pool }: EbrcClientDependencies,
  { exporterId, rows, warnings }: PreparedFiling,
  onDoubtful: (warnings: Finding[]) => Promise<void>,
): Promise<void> {
  const held = await balanceFindings(pool, { exporterId, rows });
  const doubtful = [...warnings, ...held].filter(isDoubtful);
  if (doubtful.length > 0) await onDoubtful(doubtful);
}

/** An update without an answer has not compared the content. @throws RefusedError if the recorded content differs */
async function refuseOtherContent(
  { pool, mode }: EbrcClientDependencies,
  { reference, n, contentHash }: FilingView,
  ownHash: string,
): Promise<void> {
  if (contentHash === null || contentHash === ownHash) return;
  const holder = await filingOfReference(pool, { mode, reference, n });
  if (holder) throw new RefusedError([await referenceTaken(pool, holder)]);
}

/**
 * Starts the run and waits for its update. Each request has its own update id, because Temporal answers a repeated id
 * with the first answer, even a refusal.
 * @returns the recorded or refused filing; null if no answer came in time
 */
async function requestFiling(
  deps: EbrcClientDependencies,
  { workflowId, reference, exporterId }: { workflowId: string; reference: string; exporterId: string },
  input: FileInput,
): Promise<FilingResult | null> {
  const { temporal, taskQueue, mode } = deps;
  const shown = { mode, exporterId, reference, state: 'checking' } as const;
  const start = {
    workflowId,
    taskQueue,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  };
  for (let tries = 1; ; tries += 1) {
    try {
      return await answeredByWorker(deps, workflowId, () =>
        temporal.workflow.withDeadline(Date.now() + RECORDED_WITHIN_MS, () =>
          withFilingAttributes(shown, start, (attributed) =>
            temporal.workflow.executeUpdateWithStart(fileUpdate, {
              args: [input],
              startWorkflowOperation: new WithStartWorkflowOperation('fileRemittances', attributed),
            }),
          ),
        ),
      );
    } catch (error) {
      if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return null;
      const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
      if (!(cause instanceof ApplicationFailure)) throw error;
      const ended = endedUnanswered(error);
      if (tries === MAX_ASKS || !(ended || cause.type === 'run_ending')) throw ended ? error : refusedAs(cause);
      await sleep(RUN_ENDS_WITHIN_MS);
    }
  }
}

/** The refusal of a failed update, with the reasons in its details. */
function refusedAs({ type, message, details }: ApplicationFailure): RefusedError {
  const [{ errors = [] } = {}] = (details ?? []) as { errors?: Finding[] }[];
  return errors.length > 0 ? new RefusedError(errors) : refusal(type ?? 'refused', message);
}

async function inputOf(
  deps: EbrcClientDependencies,
  filing: PreparedFiling,
  { reference, contentHash }: { reference: string; contentHash: string },
): Promise<FileInput> {
  const { file, rows, warnings } = filing;
  const { pool, principal } = deps;
  const sourceDocument = file.kind === 'workbook' ? await storeWorkbook(deps, file.bytes) : null;
  const inputRef = await saveInput(deps.pool, {
    rows,
    sourceKind: file.kind,
    sourceName: file.name,
    sourceDocument,
    warnings,
  });
  const input = checkedInput(fileInput, {
    mode: deps.mode,
    exporterId: filing.exporterId,
    reference,
    uploadType: filing.uploadType as UploadType,
    declaration: filing.declaration,
    channel: filing.channel ?? 'auto',
    inputRef,
    madeBy: principal?.name ?? filing.madeBy,
    approval: filing.approval,
    ...(filing.allowDuplicate?.length && { allowDuplicate: filing.allowDuplicate }),
    corrects: filing.corrects,
    n: filing.n,
  });
  if (!principal) return input;
  const { exporterId, allowDuplicate: permitted } = input;
  const shown = shownToFile(input, { contentHash, reference: input.reference ?? reference, permitted });
  return { ...input, grant: await writeGrant(pool, principal, { action: 'file', exporterId, filingId: null, shown }) };
}

/** Stores the caller's workbook under a hash of its content, so that errors can be written into it later. */
async function storeWorkbook({ documents }: EbrcClientDependencies, bytes: Buffer): Promise<string> {
  const name = `input-${createHash('sha256').update(bytes).digest('hex')}`;
  const stored = await documents.put({ name, kind: 'xlsx', buffer: bytes });
  return stored.name;
}

/** Follows a filing's workflow until it is recorded or, with `wait`, until it ends or needs a person. */
export async function followFiling(
  deps: EbrcClientDependencies,
  started: Pick<FilingView, 'workflowId' | 'reference' | 'n' | 'exporterId'>,
  { wait = false, onProgress, onNotice }: WaitOptions,
): Promise<FilingOutcome> {
  const { progress, notice } = await follow(deps, started.workflowId, {
    query: filingQuery,
    until: wait ? waitsForPerson : isRecorded,
    onProgress,
    onNotice,
    ...(!wait && { withinMs: RECORDED_WITHIN_MS }),
  });
  const filing = await viewOfResult(deps, progress, started);
  // The ledger may know the filing although Temporal does not answer.
  if (notice === TEMPORAL_SILENT && filing.filingId === null) throw new TemporalSilentError();
  return { filing, waitsForPerson: waitsForPerson(filing), notice };
}

/** Whether the filing is recorded, and has passed the checks that may refuse it (at most one call to the service). */
function isRecorded({ filingId, state }: FilingResult): boolean {
  return filingId !== null && state !== 'checking';
}
