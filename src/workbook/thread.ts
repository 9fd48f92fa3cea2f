/** Runs in a thread of threads.ts: one job with workbooks at a time. */
import type { BulkTemplate } from '../domain/service/bulk-template';
import type { MappingRow } from '../domain/filing/mapping';
import type { FileContext } from '../domain/rules/file';
import type { Annotation } from './annotate';
import type { CheckedWorkbook } from './check';
import { WorkbookRefused } from './ooxml/limits';
import { workbooksInProcess } from './workbooks';

export type Job =
  | { do: 'check'; source: Uint8Array; context: FileContext; template: BulkTemplate | undefined }
  | { do: 'annotate'; annotation: Annotation }
  | { do: 'write'; rows: readonly MappingRow[]; template: BulkTemplate | undefined }
  | { do: 'templateLabels'; source: Uint8Array };

/** An error loses everything but its message between threads, so a refusal is returned as a result. */
export type JobResult =
  | { checked: CheckedWorkbook }
  | { bytes: Uint8Array }
  | { labels: string[] }
  | { refused: { code: string; message: string } };

export default async function run(job: Job): Promise<JobResult> {
  try {
    switch (job.do) {
      case 'check':
        return { checked: await workbooksInProcess.check(bufferOf(job.source), job.context, job.template) };
      case 'annotate': {
        const { source } = job.annotation;
        const annotation = { ...job.annotation, source: typeof source === 'string' ? source : bufferOf(source) };
        return { bytes: await workbooksInProcess.annotate(annotation) };
      }
      case 'write':
        return { bytes: await workbooksInProcess.write(job.rows, job.template) };
      case 'templateLabels':
        return { labels: await workbooksInProcess.templateLabels(bufferOf(job.source)) };
    }
  } catch (error) {
    if (error instanceof WorkbookRefused) return { refused: { code: error.code, message: error.message } };
    throw error;
  }
}

/** A buffer arrives as plain bytes. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
