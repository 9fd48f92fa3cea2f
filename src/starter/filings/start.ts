import { createHash } from 'node:crypto';
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import { fileInput, type FileInput, type FilingResult } from '../../domain/contracts';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import type { Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import { filingWorkflowId } from '../../domain/names';
import { contentHashOf, referenceOf } from '../../ledger/filings/filing-content';
import { saveInput } from '../../ledger/filings/filing-inputs';
import { findFiling, getFiling } from '../../ledger/filings/filings';
import { startFilingRun } from '../../runs/filing-runs';
import { filingQuery } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { refusal, RefusedError } from '../errors';
import type { FilingFile } from './read-file';
import { viewOfResult, waitsForPerson, type FilingOutcome } from './outcome';
import { recordOrigins } from './origins';
import { follow, type FollowOptions } from '../temporal/follow';
import { withPaths } from './lookup';
import { silenceNotice } from '../temporal/workers-present';

/**
 * How long the command takes at most until the filing is recorded and checked, or refused, if the caller does not wait.
 */
const RECORDED_WITHIN_MS = 20_000;

/** The options of a filing, as the caller gives them. */
export interface FilingTerms {
  /** The caller's own name of the filing; default: made from its content. */
  reference?: string;
  channel?: 'auto' | 'push' | 'bulk';
  madeBy: string;
  /** Wait for `approve` by somebody else. */
  approval?: boolean;
  /** Rows that may be filed although their mapping is live; a push message may say it itself. */
  allowDuplicate?: PermittedDuplicate[];
}

/** Rows with their options, ready to be filed. */
export interface PreparedFiling extends FilingTerms {
  exporterId: string;
  rows: MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  file: Pick<FilingFile, 'kind' | 'name' | 'bytes' | 'sheet'>;
  warnings: Finding[];
  /** The filing that is corrected, and which correction of its reference this is (from 1). */
  corrects?: string;
  correction?: number;
}

/** Whether, and how, the caller waits. */
export interface WaitOptions {
  /** Wait until the filing ends or needs a person; otherwise until it is recorded. */
  wait?: boolean;
  onProgress?: (progress: FilingResult) => void;
  onNotice?: (notice: string) => void;
}

/**
 * Starts `fileRemittances`, or joins the run of the same reference that is in progress.
 * @throws RefusedError if that run files different content
 */
export async function startFiling(
  deps: EbrcClientDependencies,
  filing: PreparedFiling,
  options: WaitOptions,
): Promise<FilingOutcome> {
  const contentHash = contentHashOf(filing);
  const reference = filing.reference ?? referenceOf(contentHash, filing.allowDuplicate);
  const workflowId = filingWorkflowId(deps.mode, reference, filing.correction);
  const input = await inputOf(deps, filing, reference);
  const shown = { mode: deps.mode, exporterId: filing.exporterId, reference, state: 'checking' } as const;
  await startFilingRun(deps.temporal, shown, {
    workflowId,
    taskQueue: deps.taskQueue,
    args: [input],
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    memo: { contentHash },
  });
  const { memo } = await deps.temporal.workflow.getHandle(workflowId).describe();
  // A run that another SDK started has no memo: its content is in the ledger, once it has recorded it.
  const running = memo?.contentHash ?? (await recordedHash(deps, workflowId));
  if (running !== contentHash) throw await referenceInUse(deps, reference, workflowId);
  return followFiling(deps, { workflowId, reference, exporterId: filing.exporterId }, options);
}

/** The content hash of the filing that a running workflow has recorded; null if it records none within a while. */
async function recordedHash(deps: EbrcClientDependencies, workflowId: string): Promise<string | null> {
  const { progress } = await follow<FilingResult>(deps.temporal, workflowId, {
    query: filingQuery,
    until: ({ filingId }) => filingId !== null,
    withinMs: RECORDED_WITHIN_MS,
  });
  const filing = progress?.filingId ? await getFiling(deps.pool, progress.filingId) : null;
  return filing?.contentHash ?? null;
}

async function inputOf(deps: EbrcClientDependencies, filing: PreparedFiling, reference: string): Promise<FileInput> {
  const { file, rows, warnings } = filing;
  const sourceDocument = file.kind === 'workbook' ? await keepWorkbook(deps, file.bytes) : null;
  const inputRef = await saveInput(deps.pool, {
    rows,
    sourceKind: file.kind,
    sourceName: file.name,
    sourceDocument,
    warnings,
  });
  await recordOrigins(deps.pool, { inputRef, rows, file });
  const input = fileInput.safeParse({
    mode: deps.mode,
    exporterId: filing.exporterId,
    reference,
    uploadType: filing.uploadType,
    declaration: filing.declaration,
    channel: filing.channel ?? 'auto',
    inputRef,
    madeBy: filing.madeBy,
    approval: filing.approval,
    ...(filing.allowDuplicate?.length && { allowDuplicate: filing.allowDuplicate }),
    corrects: filing.corrects,
    correction: filing.correction,
  });
  if (input.success) return input.data;
  throw new RefusedError(
    input.error.issues.map(({ path, message }) => ({
      code: 'invalid_input',
      message: `${path.join('.')}: ${message}`,
    })),
  );
}

/** Stores the caller's own workbook under a name made from its content, so that errors can be written back into it. */
async function keepWorkbook({ documents }: EbrcClientDependencies, bytes: Buffer): Promise<string> {
  const name = `input-${createHash('sha256').update(bytes).digest('hex')}`;
  const stored = await documents.put({ name, kind: 'xlsx', buffer: bytes });
  return stored.name;
}

async function referenceInUse(deps: EbrcClientDependencies, reference: string, workflowId: string) {
  const holder = await findFiling(deps.pool, deps.mode, workflowId);
  return refusal(
    'reference_taken',
    holder
      ? `Reference ${reference} is being filed with other content (filing ${holder.filingId}, ${holder.state}). Give another --reference, or wait for that filing.`
      : `Workflow ${workflowId} runs under reference ${reference} and has not recorded what it files yet. Give another --reference, or try again when it has.`,
    holder ? { filingId: holder.filingId } : {},
  );
}

/** Follows a filing's workflow until it is recorded or, with `wait`, until it ends or needs a person. */
export async function followFiling(
  deps: EbrcClientDependencies,
  started: { workflowId: string; reference: string; exporterId: string },
  { wait = false, onProgress, onNotice }: WaitOptions,
): Promise<FilingOutcome> {
  const silence: Promise<string>[] = [];
  const followOptions: FollowOptions<FilingResult> = {
    query: filingQuery,
    until: wait ? waitsForPerson : isRecorded,
    onProgress,
    onSilence: () => {
      const notice = silenceNotice(deps.temporal, deps.taskQueue);
      silence.push(notice);
      void notice.then(onNotice);
    },
    ...(!wait && { withinMs: RECORDED_WITHIN_MS }),
  };
  const { progress } = await follow(deps.temporal, started.workflowId, followOptions);
  const filing = withPaths(deps, await viewOfResult(deps.pool, progress, started));
  return {
    filing,
    waitsForPerson: waitsForPerson(filing),
    notice: progress === null ? await (silence[0] ?? silenceNotice(deps.temporal, deps.taskQueue)) : null,
  };
}

/** Recorded, and past the checks that may still refuse it, which take one call to the service at most. */
function isRecorded({ filingId, state }: FilingResult): boolean {
  return filingId !== null && state !== 'checking';
}
