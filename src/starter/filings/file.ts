import type { Finding } from '../../domain/finding';
import type { EbrcClientDependencies } from '../dependencies';
import { refusal, UsageError } from '../errors';
import { exporterIdOf } from '../exporters/lookup';
import { readFilingFile, refuseErrors, type FilingSource } from './read-file';
import type { FilingOutcome } from './outcome';
import { startFiling, type WaitOptions } from './start';

export interface FileRequest {
  source: FilingSource;
  /** Id or e-mail; may be left out where a push message names its `platformCustomerId`. */
  exporter?: string;
  uploadType?: number;
  /** A legal statement: it has no default. */
  declaration?: 'Y' | 'N';
  /** The caller's own name of the filing; left out: made from its content. */
  reference?: string;
  channel?: 'auto' | 'push' | 'bulk';
  madeBy: string;
  /** Wait for `approve` by somebody else. */
  approval?: boolean;
  /** Why a mapping that is live already is filed again. */
  allowDuplicate?: string;
}

/**
 * Files a push message or a workbook.
 * @throws RefusedError with every finding, before anything is started
 * @throws UsageError when the exporter, the upload type or the declaration is said nowhere
 */
export async function fileFile(
  deps: EbrcClientDependencies,
  request: FileRequest,
  wait: WaitOptions,
): Promise<FilingOutcome> {
  const { source, exporter, uploadType, declaration, ...rest } = request;
  const said = { uploadType, declaration };
  const file = await readFilingFile(source, said);
  refuseErrors(file.findings, { reference: request.reference ?? null });
  const whose = exporter ?? file.exporterInFile;
  if (whose === undefined) throw new UsageError('Say whose filing it is: --exporter ID-OR-EMAIL.', 'no_exporter');
  if (file.uploadType === undefined) throw new UsageError(NO_UPLOAD_TYPE, 'no_upload_type');
  if (file.declaration === undefined) throw new UsageError(NO_DECLARATION, 'no_declaration');
  const exporterId = await exporterIdOf(deps.pool, deps.mode, whose);
  if (file.exporterInFile !== undefined && file.exporterInFile !== exporterId) {
    throw refusal(
      'exporter_differs',
      `The message is for ${file.exporterInFile}, but --exporter is ${exporterId}. Leave platformCustomerId out, or make them agree.`,
      { field: 'platformCustomerId' },
    );
  }
  return startFiling(
    deps,
    {
      ...rest,
      exporterId,
      rows: file.rows,
      uploadType: file.uploadType,
      declaration: file.declaration,
      file,
      warnings: file.findings.filter(isWarning),
    },
    wait,
  );
}

const isWarning = ({ severity }: Finding) => severity === 'warning';

const NO_UPLOAD_TYPE = 'Say the upload type, --upload-type 101|102|103|104: the file does not.';
const NO_DECLARATION = 'Give --declaration Y or N: it is a legal statement, and has no default.';
