/** Starts the run of a filing, or finds what stands under its reference. */
import { createHash } from 'node:crypto';
import { fileInput, type FileInput, type FilingResult } from '../../domain/contracts';
import { pushMessageOf, type MappingRow } from '../../domain/filing/mapping';
import { filingWorkflowId } from '../../domain/names';
import type { UploadType } from '../../domain/rules/columns';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import { isDoubtful, type Finding } from '../../domain/rules/finding';
import { getExporter } from '../../ledger/exporters/exporters';
import { filingOfReference, type FilingRecord } from '../../ledger/filings/filing';
import { contentHashOf, referenceOf, saveInput } from '../../ledger/filings/inputs';
import { previewFiling } from '../../ledger/filings/record';
import { referenceTaken } from '../../ledger/filings/reference';
import { follow } from '../../temporal/follow';
import { pokeOrStart, startWith } from '../../temporal/runs';
import { TEMPORAL_SILENT, TemporalSilentError } from '../../temporal/workers-present';
import { filingQuery } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { checkedInput, RefusedError } from '../errors';
import { viewOf } from '../lookup';
import type { FilingFile } from './read-file';
import { viewOfResult, waitsForPerson, type FilingOutcome, type Started } from './outcome';

/** How long a caller that does not wait is kept until the filing is recorded and checked, or refused. */
const RECORDED_WITHIN_MS = 20_000;

/** A filing's options, as the caller gives them. */
export interface FilingTerms {
  /** The caller's name for the filing; default: derived from its content. */
  reference?: string;
  channel?: 'auto' | 'push' | 'bulk';
  /** A claimed name; the principal's takes precedence. */
  madeBy: string;
  /** Wait for the approval of another person. */
  approval?: boolean;
  /** Rows that two persons let pass although something stands against them; a push message may have its own. */
  allowDuplicate?: PermittedDuplicate[];
}

export interface PreparedFiling extends FilingTerms {
  exporterId: string;
  rows: MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  file: Pick<FilingFile, 'kind' | 'name' | 'bytes'>;
  warnings: Finding[];
  /** The filing that is corrected, and the number of the correction. */
  corrects?: string;
  n?: number;
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
 * Starts `fileRemittances`. The same content under the same reference is answered with what stands, and sends nothing.
 * @throws RefusedError if the reference has other content
 */
export async function startFiling(
  deps: EbrcClientDependencies,
  filing: PreparedFiling,
  options: WaitOptions,
): Promise<FilingOutcome> {
  const { mode, temporal, taskQueue } = deps;
  const contentHash = contentHashOf(filing);
  const reference = filing.reference ?? referenceOf(contentHash, filing.allowDuplicate);
  const { n = 1, exporterId } = filing;
  const before = await recordedAs(deps, { reference, n, contentHash, exporterId });
  if (before) return repeated(deps, before, options);
  if (options.onDoubtful) await stopDoubtful(deps, { ...filing, reference }, options.onDoubtful);
  const workflowId = filingWorkflowId(mode, reference, n);
  const started = { workflowId, mode, exporterId, reference, n };
  const exporterName = (await getExporter(deps.pool, exporterId))?.name ?? null;
  const run = { ...started, rows: filing.rows.length, exporterName };
  const isNew = await startWith(temporal, taskQueue, run, await inputOf(deps, filing, reference));
  const outcome = await followFiling(deps, started, options);
  if (isNew && outcome.filing.filingId !== null) return outcome;
  // A run of somebody else was met, or the same request was made twice at once: what it recorded counts.
  const standing = await recordedAs(deps, { reference, n, contentHash, exporterId });
  if (isNew || standing) return outcome;
  // What it was refused for is its caller's to know.
  return { ...outcome, filing: await viewOfResult(deps, null, started), waitsForPerson: false, notice: MET_ANOTHER };
}

const MET_ANOTHER = 'Another request under this reference was under way. Repeat yours: nothing is filed twice.';

/** Answers what stands, from the ledger alone unless the caller waits. A run that was lost is started again. */
async function repeated(
  deps: EbrcClientDependencies,
  before: FilingRecord,
  options: WaitOptions,
): Promise<FilingOutcome> {
  const { filingId, closed } = before;
  if (!closed) await pokeOrStart(deps.temporal, deps.taskQueue, before);
  const sent = `Filed before as ${filingId}: nothing new was sent.`;
  if (options.wait && !closed) {
    const { notice, ...outcome } = await followFiling(deps, before, options);
    return { ...outcome, notice: notice ?? sent, repeated: true };
  }
  const filing = await viewOf(deps, filingId);
  return { filing, waitsForPerson: waitsForPerson(filing), notice: sent, repeated: true };
}

async function stopDoubtful(
  { pool, mode }: EbrcClientDependencies,
  { exporterId, rows, warnings, allowDuplicate, corrects, reference }: PreparedFiling & { reference: string },
  onDoubtful: (warnings: Finding[]) => Promise<void>,
): Promise<void> {
  // The run reads an exporter that the ledger does not know yet.
  const known = await getExporter(pool, exporterId);
  const corrected = corrects === undefined ? null : { filingId: corrects, reference };
  const rest = known && (await previewFiling(pool, { mode, exporterId, rows, allowDuplicate, corrects: corrected }));
  const doubtful = [...warnings, ...(rest ?? [])].filter(isDoubtful);
  if (doubtful.length > 0) await onDoubtful(doubtful);
}

/** The filing with this number under the reference; null: none. @throws RefusedError if it has other content */
async function recordedAs(
  { pool, mode }: EbrcClientDependencies,
  { reference, n, contentHash, exporterId }: { reference: string; n: number; contentHash: string; exporterId: string },
): Promise<FilingRecord | null> {
  const found = await filingOfReference(pool, { mode, reference, n });
  if (found?.n !== n) return null;
  if (found.contentHash === contentHash) return found;
  throw new RefusedError([referenceTaken({ reference, exporterId }, { ...found, madeAt: found.madeAt.toISOString() })]);
}

async function inputOf(deps: EbrcClientDependencies, filing: PreparedFiling, reference: string): Promise<FileInput> {
  const { pool, principal, documents, mode } = deps;
  const { file, rows, warnings, exporterId, declaration, channel = 'auto', approval, corrects, n } = filing;
  const sourceDocument = file.kind === 'workbook' ? await storeWorkbook(documents, file.bytes) : null;
  const inputRef = await saveInput(pool, {
    ...{ rows, sourceKind: file.kind, sourceName: file.name, sourceDocument, warnings },
    maker: principal ? { principalId: principal.principalId, name: principal.name } : null,
  });
  return checkedInput(fileInput, {
    ...{ mode, exporterId, reference, uploadType: filing.uploadType as UploadType, declaration, channel, inputRef },
    ...{ madeBy: principal?.name ?? filing.madeBy, approval, corrects, n },
    ...(filing.allowDuplicate?.length && { allowDuplicate: filing.allowDuplicate }),
    ...messageIfFew(filing),
  });
}

/** Up to this many rows, 60 KB, stand in the run's history as well. */
const FEW_ROWS = 100;

/**
 * The rows as a message, so that a ledger restored to a moment before them has them from the run. A message names the
 * rows of `allowDuplicate` by other numbers than a workbook, and its optional columns too.
 */
function messageIfFew(filing: PreparedFiling): Pick<FileInput, 'message'> {
  const { rows, allowDuplicate = [] } = filing;
  if (rows.length > FEW_ROWS || allowDuplicate.length > 0 || rows.some(({ extra }) => extra)) return {};
  const numbered = rows.map(({ mapping }, nth) => ({ serialNo: nth + 1, mapping }));
  const { platformCustomerId: _, ...message } = pushMessageOf(filing, numbered);
  return { message };
}

/** Stores the caller's workbook under a hash of its content, so that errors can be written into it later. */
async function storeWorkbook(documents: EbrcClientDependencies['documents'], bytes: Buffer): Promise<string> {
  const name = `input-${createHash('sha256').update(bytes).digest('hex')}`;
  return (await documents.put({ name, kind: 'xlsx', buffer: bytes })).name;
}

/** Follows a filing's run until it is recorded or, with `wait`, until it ends or needs a person. */
export async function followFiling(
  deps: EbrcClientDependencies,
  started: Started,
  { wait = false, onProgress, onNotice }: WaitOptions,
): Promise<FilingOutcome> {
  const { progress, notice } = await follow(deps, started.workflowId, {
    query: filingQuery,
    until: wait ? waitsForPerson : isRecorded,
    onProgress,
    onNotice,
    ...(!wait && { withinMs: RECORDED_WITHIN_MS }),
  });
  const known = progress ?? (await resultInLedger(deps, started));
  const filing = await viewOfResult(deps, known, started);
  // The ledger may know the filing although Temporal does not answer.
  if (notice === TEMPORAL_SILENT && filing.filingId === null) throw new TemporalSilentError();
  return { filing, waitsForPerson: waitsForPerson(filing), notice };
}

/** What the ledger has of a filing whose run does not answer. */
async function resultInLedger(
  { pool, mode }: EbrcClientDependencies,
  { reference, n }: Started,
): Promise<FilingResult | null> {
  const found = await filingOfReference(pool, { mode, reference, n });
  return found?.n === n ? ({ filingId: found.filingId, errors: [] as Finding[] } as FilingResult) : null;
}

/** Whether the filing is recorded, and has passed the checks that may refuse it. */
const isRecorded = ({ filingId, state }: FilingResult): boolean => filingId !== null && state !== 'checking';
