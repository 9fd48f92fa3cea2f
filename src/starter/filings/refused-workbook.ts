import { createHash } from 'node:crypto';
import type { DocumentStore } from '../../documents/document-store';
import type { Finding } from '../../domain/rules/finding';
import { WorkbookRefused } from '../../workbook/read';
import { workbooksInProcess, type Workbooks } from '../../workbook/workbooks';
import type { FilingFile } from './read-file';

/**
 * Annotates the caller's own workbook with the errors, if a filing is refused before anything is recorded.
 * @returns the path of the annotated workbook; null for a message, for no errors, or for a file that is not a workbook
 */
export async function annotateRefused(
  { documents, workbooks = workbooksInProcess }: { documents: DocumentStore; workbooks?: Workbooks },
  file: FilingFile,
  findings: readonly Finding[],
): Promise<string | null> {
  if (file.kind !== 'workbook' || !findings.some(({ severity }) => severity === 'error')) return null;
  const key = createHash('sha256').update(file.bytes).update(JSON.stringify(findings)).digest('hex').slice(0, 24);
  const name = `refused-${key}`;
  const before = await documents.find({ name, kind: 'xlsx' });
  if (before) return before.path;
  try {
    const buffer = await workbooks.annotate({ source: file.bytes, findings });
    return (await documents.put({ name, kind: 'xlsx', buffer })).path;
  } catch (error) {
    // A file that is refused as a whole has no cells to annotate; its only error gives the reason.
    if (error instanceof WorkbookRefused) return null;
    throw error;
  }
}
