import { createHash } from 'node:crypto';
import type { DocumentStore } from '../../documents/document-store';
import { LedgerUnavailableError } from '../../ledger/unavailable';
import { TEMPLATE_UNKNOWN } from '../../workbook/read';
import { workbooksInProcess, type Workbooks } from '../../workbook/workbooks';
import type { Finding } from '../../domain/rules/finding';
import type { EbrcClientDependencies, LedgerDependencies } from '../dependencies';
import { RefusedError, UsageError } from '../errors';
import { exporterIdOf } from '../lookup';
import { annotatedWorkbook } from './check';
import { otherExporter, readFilingFile, refuseErrors } from './read-file';
import type { FilingFile, FilingSource, StatedOptions } from './read-file';
import type { FilingOutcome } from './outcome';
import { startFiling, type FilingTerms, type WaitOptions } from './start';

export interface FileRequest extends FilingTerms {
  source: FilingSource;
  /** Id or e-mail; optional for a push message with a `platformCustomerId`. */
  exporter?: string;
  uploadType?: number;
  /** A legal statement, so it has no default. */
  declaration?: 'Y' | 'N';
  /** The filing's number under its reference; a plain filing is the first. */
  n?: number;
}

/** Files a message or workbook. @throws RefusedError with every finding before a start; UsageError */
export async function fileFile(
  deps: EbrcClientDependencies,
  request: FileRequest,
  wait: WaitOptions = {},
): Promise<FilingOutcome> {
  const { exporter, reference, n, channel, madeBy, approval } = request;
  const read = await readFileToFile(deps, request);
  const exporterArgument = exporter ?? read.exporterInFile;
  if (exporterArgument === undefined) throw new UsageError('Name the exporter: --exporter ID-OR-EMAIL.', 'no_exporter');
  if (read.uploadType === undefined) throw new UsageError(NO_UPLOAD_TYPE, 'no_upload_type');
  if (read.declaration === undefined) throw new UsageError(NO_DECLARATION, 'no_declaration');
  const exporterId = await exporterIdOf(deps.pool, deps.mode, exporterArgument);
  const differs = otherExporter(read, exporterId);
  if (differs) throw new RefusedError([differs]);
  const { uploadType, declaration, allowDuplicate } = request;
  const stated = { uploadType, declaration, allowDuplicate };
  const file = await readTemplateFirst(deps, exporterId, { file: read, stated });
  if (file !== read) await refuseWrong(deps, file, reference);
  const terms = { reference, n, channel, madeBy, approval, allowDuplicate: file.allowDuplicate };
  const content = { exporterId, rows: file.rows, uploadType: read.uploadType, declaration: read.declaration, file };
  const warnings = file.findings.filter(({ severity }) => severity === 'warning');
  const outcome = await startFiling(deps, { ...terms, ...content, warnings }, wait);
  const { filing } = outcome;
  // A worker refused the filing before recording it, so only this program can return the annotated workbook.
  const annotated =
    filing.annotated ?? (filing.filingId ? null : await annotateRefused(deps, file, filing.errors as Finding[]));
  return { ...outcome, filing: { ...filing, annotated } };
}

/** Reads and checks the file. @throws RefusedError with every finding (and `annotated`); UsageError: unreadable */
export async function readFileToFile(
  deps: Pick<EbrcClientDependencies, 'documents' | 'workbooks'> & Partial<LedgerDependencies>,
  args: Pick<FileRequest, 'source' | 'uploadType' | 'declaration' | 'allowDuplicate' | 'reference'>,
): Promise<FilingFile> {
  const { source, uploadType, declaration, allowDuplicate, reference } = args;
  const file = await readFilingFile(source, { uploadType, declaration, allowDuplicate }, deps);
  await refuseWrong(deps, file, reference);
  return file;
}

async function refuseWrong(
  store: Pick<EbrcClientDependencies, 'documents' | 'workbooks'>,
  file: FilingFile,
  reference?: string,
): Promise<void> {
  // Before the ledger is asked, nothing is known of the template: that is no part of why the file is refused.
  const findings = file.findings.filter((finding) => !isUndecided(finding));
  const annotated = await annotateRefused(store, file, findings);
  refuseErrors(findings, { reference: reference ?? null, annotated });
}

const NO_UPLOAD_TYPE = 'Give the upload type, --upload-type 101|102|103|104: the file does not have it.';
const NO_DECLARATION = 'Give --declaration Y or N: it is a legal statement, and has no default.';

/** Annotates a workbook that is refused before it is recorded. @returns its path; null if no cell can be annotated */
async function annotateRefused(
  { documents, workbooks = workbooksInProcess }: { documents: DocumentStore; workbooks?: Workbooks },
  file: FilingFile,
  findings: readonly Finding[],
): Promise<string | null> {
  // An error about the whole file is written into each filled row; where none is filled, there is nothing to mark.
  const isWritten = ({ severity, row }: Finding) => severity === 'error' && (row !== null || file.rowCount > 0);
  if (file.kind !== 'workbook' || !findings.some(isWritten)) return null;
  const key = createHash('sha256').update(file.bytes).update(JSON.stringify(findings)).digest('hex').slice(0, 24);
  const name = `refused-${key}`;
  const before = await documents.find({ name, kind: 'xlsx' });
  if (before) return before.path;
  const buffer = await annotatedWorkbook(workbooks, file, findings);
  return buffer && (await documents.put({ name, kind: 'xlsx', buffer })).path;
}

/**
 * If only the service's template can tell whether a filled column is sent, reads the template and then the workbook
 * again. Otherwise a value that the service takes could be left out.
 * @throws RefusedError if the template cannot be read
 */
export async function readTemplateFirst(
  deps: Pick<EbrcClientDependencies, 'pool' | 'mode' | 'api' | 'workbooks'>,
  exporterId: string,
  { file, stated }: { file: FilingFile; stated: StatedOptions },
): Promise<FilingFile> {
  if (!file.findings.some(isUndecided)) return file;
  const why = await tryLearnTemplate(deps, exporterId);
  const again = await readFilingFile({ read: file }, stated, deps);
  const undecided = again.findings.find(isUndecided);
  if (!undecided) return again;
  const message = `${undecided.message} (${why})`;
  throw new RefusedError([{ ...undecided, severity: 'error', message }], { state: 'refused', filingId: null });
}

const isUndecided = ({ code }: Finding): boolean => code === TEMPLATE_UNKNOWN;

/** @returns why the template is still unknown; null if it was read */
async function tryLearnTemplate(
  { pool, mode, api }: Pick<EbrcClientDependencies, 'pool' | 'mode' | 'api'>,
  exporterId: string,
) {
  if (!api) return 'This program cannot call the service.';
  try {
    const { learnTemplate } = await import('../exporters/template.js');
    const { problem } = await learnTemplate({ pool, mode, api: await api() }, exporterId);
    return problem;
  } catch (error) {
    if (error instanceof LedgerUnavailableError) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}
