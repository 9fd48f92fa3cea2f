import type { BulkTemplate } from '../domain/service/bulk-template';
import type { MappingRow } from '../domain/filing/mapping';
import type { FileContext } from '../domain/rules/file';
import type { Annotation } from './annotate';
import type { CheckedWorkbook } from './check';

/** Operations on workbooks; the implementation decides in which thread. */
export interface Workbooks {
  /** See `checkWorkbook`. @throws WorkbookRefused */
  check(source: Buffer, context: FileContext, template?: BulkTemplate): Promise<CheckedWorkbook>;
  /** See `annotateWorkbook`. @throws WorkbookRefused */
  annotate(annotation: Annotation): Promise<Buffer>;
  /** See `writeBulkWorkbook`. @throws RangeError */
  write(rows: readonly MappingRow[], template?: BulkTemplate): Promise<Buffer>;
  /** See `readTemplateLabels`. @throws WorkbookRefused */
  templateLabels(source: Buffer): Promise<string[]>;
  /** The same, for the jobs of one exporter: the jobs of different ones take turns. */
  of(whose: string): Workbooks;
  /** Stops the thread, if there is one. */
  close(): Promise<void>;
}

/** Runs in the current thread: limited by what is read, but not in time. */
export const workbooksInProcess: Workbooks = {
  check: async (source, context, template) => (await import('./check.js')).checkWorkbook(source, context, { template }),
  annotate: async (annotation) => (await import('./annotate.js')).annotateWorkbook(annotation),
  write: async (rows, template) => (await import('./write.js')).writeBulkWorkbook(rows, template),
  templateLabels: async (source) => (await import('./template.js')).readTemplateLabels(source),
  of: () => workbooksInProcess,
  close: () => Promise.resolve(),
};
