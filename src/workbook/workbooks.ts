import type { BulkTemplate } from '../domain/service/bulk-template';
import type { MappingRow } from '../domain/filing/mapping';
import type { Annotation } from './annotate';

/** What a worker does with workbooks; where it runs is the implementation's business. */
export interface Workbooks {
  /** See `annotateWorkbook`. @throws WorkbookRefused */
  annotate(annotation: Annotation): Promise<Buffer>;
  /** See `writeBulkWorkbook`. @throws RangeError */
  write(rows: readonly MappingRow[], template?: BulkTemplate): Promise<Buffer>;
  /** See `readTemplateLabels`. @throws WorkbookRefused */
  templateLabels(source: Buffer): Promise<string[]>;
  /** Ends what was started for it. */
  close(): Promise<void>;
}

/** In this thread: bounded by the limits of what is read, but not in time. */
export const workbooksInProcess: Workbooks = {
  annotate: async (annotation) => (await import('./annotate.js')).annotateWorkbook(annotation),
  write: async (rows, template) => (await import('./write.js')).writeBulkWorkbook(rows, template),
  templateLabels: async (source) => (await import('./template.js')).readTemplateLabels(source),
  close: () => Promise.resolve(),
};
