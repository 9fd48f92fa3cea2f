import { createHash } from 'node:crypto';
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import { canonicalContent } from '../../domain/content-hash';
import { fileInput, type FileInput, type FilingResult } from '../../domain/contracts';
import type { Finding } from '../../domain/finding';
import type { MappingRow } from '../../domain/mapping';
import { filingWorkflowId } from '../../domain/names';
import { saveInput } from '../../ledger/filing-inputs';
import { findFiling } from '../../ledger/filings';
import { filingQuery } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { refusal, RefusedError } from '../errors';
import type { FilingFile } from './read-file';
import { viewOfResult, waitsForPerson, type FilingOutcome } from './outcome';
import { follow, type FollowOptions } from '../temporal/follow';
import { withPaths } from './lookup';
import { silenceNotice } from '../temporal/workers-present';

/** How long a caller who does not wait is kept until the filing is recorded and checked, or refused. */
const RECORDED_WITHIN_MS = 20_000;

/** Rows and what is said about them, ready to be filed. */
export interface PreparedFiling {
  exporterId: string;
  rows: MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  file: Pick<FilingFile, 'kind' | 'name' | 'bytes'>;
  warnings: Finding[];
  reference?: string;
  channel?: 'auto' | 'push' | 'bulk';
  madeBy: string;
  approval?: boolean;
  allowDuplicate?: string;
  /** Filing that is corrected, and which correction of its reference this is (from 1). */
  corrects?: string;
  correction?: number;
}

/** Whether, and how, the caller waits. */
export interface WaitOptions {
  /** Wait until the filing ends or stands still until a person does something; otherwise until it is recorded. */
  wait?: boolean;
  onProgress?: (progress: FilingResult) => void;
  onNotice?: (notice: string) => void;
}

/** SHA-256 of what the filing files; the ledger keeps it, and a running workflow of the same reference carries it in its memo. */
export function contentHashOf(
  filing: Pick<PreparedFiling, 'exporterId' | 'uploadType' | 'declaration' | 'rows'>,
): string {
  return createHash('sha256').update(canonicalContent(filing)).digest('hex');
}

/** The reference of a filing that was given none: made from its content, so that the same file finds the same filing. */
export function referenceOf(contentHash: string): string {
  return contentHash.slice(0, 16);
}

/**
 * Starts `fileRemittances`, or finds the run of the same reference that is under way.
 * @throws RefusedError when that run files something else
 */
export async function startFiling(
  deps: EbrcClientDependencies,
  filing: PreparedFiling,
  options: WaitOptions,
): Promise<FilingOutcome> {
  const contentHash = contentHashOf(filing);
  const reference = filing.reference ?? referenceOf(contentHash);
  const workflowId = filingWorkflowId(deps.mode, reference, filing.correction);
  const input = await inputOf(deps, filing, reference);
  await deps.temporal.workflow.start('fileRemittances', {
    workflowId,
    taskQueue: deps.taskQueue,
    args: [input],
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    memo: { contentHash },
  });
  const { memo } = await deps.temporal.workflow.getHandle(workflowId).describe();
  if (memo?.contentHash !== undefined && memo.contentHash !== contentHash) {
    throw await referenceInUse(deps, reference, workflowId);
  }
  return followFiling(deps, { workflowId, reference, exporterId: filing.exporterId }, options);
}

async function inputOf(deps: EbrcClientDependencies, filing: PreparedFiling, reference: string): Promise<FileInput> {
  const { file, rows } = filing;
  const sourceDocument = file.kind === 'workbook' ? await keepWorkbook(deps, file.bytes) : null;
  const inputRef = await saveInput(deps.pool, { rows, sourceKind: file.kind, sourceName: file.name, sourceDocument });
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
    allowDuplicate: filing.allowDuplicate,
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

/** Keeps the caller's own workbook under a name made from its content, so that errors can be written back into it. */
async function keepWorkbook({ documents }: EbrcClientDependencies, bytes: Buffer): Promise<string> {
  const name = `input-${createHash('sha256').update(bytes).digest('hex')}`;
  const stored = await documents.put({ name, kind: 'xlsx', buffer: bytes });
  return stored.name;
}

async function referenceInUse(deps: EbrcClientDependencies, reference: string, workflowId: string) {
  const holder = await findFiling(deps.pool, deps.mode, workflowId);
  return refusal(
    'reference_taken',
    `Reference ${reference} is being filed with other content${holder ? ` (filing ${holder.filingId}, ${holder.state})` : ''}. ` +
      'Give another --reference, or wait for that filing.',
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

/** Recorded, and past the checks that may still refuse it; those take a call to the service at most. */
function isRecorded({ filingId, state }: FilingResult): boolean {
  return filingId !== null && state !== 'checking';
}
