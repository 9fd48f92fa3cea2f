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
import { viewOfResult, waitsForPerson, type FilingOutcome, type StartedFiling } from './outcome';
import { follow } from '../../temporal/follow';
import { answeredByWorker, TEMPORAL_SILENT, TemporalSilentError } from '../../temporal/workers-present';

/** At most until the filing is recorded and checked, or refused, if the caller does not wait. */
const RECORDED_WITHIN_MS = 20_000;
/** A run that was refused ends at once; whoever met it asks again. */
const RUN_ENDS_WITHIN_MS = 500;
const ASKS = 10;

/** The options of a filing, as the caller gives them. */
export interface FilingTerms {
  /** The caller's own name of the filing; default: made from its content. */
  reference?: string;
  channel?: 'auto' | 'push' | 'bulk';
  madeBy: string;
  /** Wait for `approve` by somebody else. */
  approval?: boolean;
  /** Which filing of its reference this is: the next number, to file a reference again. Default 1. */
  n?: number;
  /** Rows that may be filed although their mapping is live; a push message may say it itself. */
  allowDuplicate?: PermittedDuplicate[];
}

export interface PreparedFiling extends FilingTerms {
  exporterId: string;
  rows: MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  file: Pick<FilingFile, 'kind' | 'name' | 'bytes' | 'sheet'>;
  warnings: Finding[];
  /** The filing that is corrected. */
  corrects?: string;
}

/** Whether, and how, the caller waits. */
export interface WaitOptions {
  /** Wait until the filing ends or needs a person; otherwise until it is recorded. */
  wait?: boolean;
  /** Called before rows are sent that, by their warnings, are rejected or certified twice; what it throws stops it. */
  onDoubtful?: (warnings: Finding[]) => Promise<void>;
  onProgress?: (progress: FilingResult) => void;
  onNotice?: (notice: string) => void;
}

/**
 * Starts `fileRemittances` with its update `file`, or joins its run; what was filed before is answered from the ledger.
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
  // Nothing is asked about what was filed before: the command only finds it.
  if (options.onDoubtful && !before) await stopDoubtful(deps, filing, options.onDoubtful);
  const input = await inputOf(deps, filing, { reference, contentHash });
  const started = { workflowId, reference, n, exporterId };
  const answer = await askToFile(deps, started, input);
  if (answer?.state !== 'refused') {
    // A caller's own workflow may run the filing that is recorded under the reference.
    const outcome = await followFiling(deps, { ...started, workflowId: answer?.workflowId ?? workflowId }, options);
    if (answer === null) await refuseOtherContent(deps, outcome.filing, contentHash);
    const known = before && `Filed before as ${before.filingId}: nothing new was sent.`;
    return { ...outcome, notice: outcome.notice ?? known };
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

/** An update that was lost has compared nothing. @throws RefusedError where the run under way has other content */
async function refuseOtherContent(
  { pool, mode }: EbrcClientDependencies,
  { reference, n, contentHash }: FilingView,
  own: string,
): Promise<void> {
  if (contentHash === null || contentHash === own) return;
  const holder = await filingOfReference(pool, { mode, reference, n });
  if (holder) throw new RefusedError([await referenceTaken(pool, holder)]);
}

/**
 * Starts the run and asks for its answer. Each request has its own update id: a repeated one gets its first answer for
 * ever, a refusal too.
 * @returns recorded or refused; null: none in time
 */
async function askToFile(
  deps: EbrcClientDependencies,
  { workflowId, reference, exporterId }: StartedFiling,
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
      if (tries === ASKS || !(ended || cause.type === 'run_ending')) throw ended ? error : refusedAs(cause);
      await sleep(RUN_ENDS_WITHIN_MS);
    }
  }
}

/** The update fails with every reason in its details. */
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
  const sourceDocument = file.kind === 'workbook' ? await keepWorkbook(deps, file.bytes) : null;
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

/** Stores the caller's own workbook under a name made from its content, so that errors can be written back into it. */
async function keepWorkbook({ documents }: EbrcClientDependencies, bytes: Buffer): Promise<string> {
  const name = `input-${createHash('sha256').update(bytes).digest('hex')}`;
  const stored = await documents.put({ name, kind: 'xlsx', buffer: bytes });
  return stored.name;
}

/** Follows a filing's workflow until it is recorded or, with `wait`, until it ends or needs a person. */
export async function followFiling(
  deps: EbrcClientDependencies,
  started: StartedFiling,
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
  // The ledger may tell what Temporal does not.
  if (notice === TEMPORAL_SILENT && filing.filingId === null) throw new TemporalSilentError();
  return { filing, waitsForPerson: waitsForPerson(filing), notice };
}

/** Recorded, and past the checks that may still refuse it, which take one call to the service at most. */
function isRecorded({ filingId, state }: FilingResult): boolean {
  return filingId !== null && state !== 'checking';
}
