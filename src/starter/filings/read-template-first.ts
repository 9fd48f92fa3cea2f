import type { Finding } from '../../domain/rules/finding';
import { TEMPLATE_UNKNOWN } from '../../workbook/read';
import { LedgerUnavailableError } from '../../ledger/unavailable';
import type { EbrcClientDependencies } from '../dependencies';
import { RefusedError } from '../errors';
import { readByTemplate, type FilingFile, type StatedOptions } from './read-file';

/**
 * For a workbook with filled columns that only the service's template can tell from the user's own: reads the template,
 * and the workbook again by its labels. Otherwise a value that the service takes would be left out without a word. Any
 * other file is returned unchanged.
 * @throws RefusedError if the template cannot be read
 */
export async function readTemplateFirst(
  deps: Pick<EbrcClientDependencies, 'pool' | 'mode' | 'api' | 'workbooks'>,
  exporterId: string,
  { file, stated }: { file: FilingFile; stated: StatedOptions },
): Promise<FilingFile> {
  if (!file.findings.some(isUndecided)) return file;
  const why = await learn(deps, exporterId);
  const again = await readByTemplate(deps, file, stated);
  const undecided = again.findings.find(isUndecided);
  if (!undecided) return again;
  const message = `${undecided.message} Or remove these columns. (${why})`;
  throw new RefusedError([{ ...undecided, severity: 'error', message }], { state: 'refused', filingId: null });
}

const isUndecided = ({ code }: Finding): boolean => code === TEMPLATE_UNKNOWN;

/** @returns why the template is not known afterwards either; null if it is */
async function learn(
  { pool, mode, api }: Pick<EbrcClientDependencies, 'pool' | 'mode' | 'api'>,
  exporterId: string,
): Promise<string | null> {
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
