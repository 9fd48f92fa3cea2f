import type { BulkTemplate } from '../domain/rules/columns';
import type { MappingRow } from '../domain/filing/mapping';
import type { FileContext } from '../domain/rules/file';
import type { Annotation } from './annotate';
import { bufferOf, createBoundedThread, type BoundedThread } from './bounded-thread';
import type { CheckedWorkbook } from './check';
import { oversized, WorkbookRefused } from './ooxml/limits';

/** Operations on workbooks. The implementation decides in which thread they run. */
export interface Workbooks {
  /** See `toXlsx`. @throws WorkbookRefused */
  toXlsx(name: string, source: Buffer): Promise<Buffer>;
  /** See `checkWorkbook`. @throws WorkbookRefused */
  check(source: Buffer, context: FileContext, template?: BulkTemplate): Promise<CheckedWorkbook>;
  /** See `annotateWorkbook`. @throws WorkbookRefused */
  annotate(annotation: Annotation): Promise<Buffer>;
  /** See `writeBulkWorkbook`. @throws RangeError */
  write(rows: readonly MappingRow[], template?: BulkTemplate): Promise<Buffer>;
  /** See `readTemplateLabels`. @throws WorkbookRefused */
  templateLabels(source: Buffer): Promise<string[]>;
  /** The operations for the jobs of one exporter. Exporters with waiting jobs take turns. */
  of(owner: string): Workbooks;
  close(): Promise<void>;
}

/** Runs in the calling thread, with limits on what is read but none on time. */
export const workbooksInProcess: Workbooks = {
  toXlsx: async (name, source) => (await import('./check.js')).toXlsx(name, bufferOf(source)),
  check: async (source, context, template) => (await import('./check.js')).checkWorkbook(source, context, { template }),
  annotate: async (annotation) => (await import('./annotate.js')).annotateWorkbook(annotation),
  write: async (rows, template) => (await import('./write.js')).writeBulkWorkbook(rows, template),
  templateLabels: async (source) => (await import('./template.js')).readTemplateLabels(source),
  of: () => workbooksInProcess,
  close: () => Promise.resolve(),
};

interface Job {
  do: Exclude<keyof Workbooks, 'of' | 'close'>;
  args: readonly unknown[];
}

/** Between threads an error keeps only its message, so a refusal is returned as a result. */
type JobResult = { result: unknown } | { refused: { code: string; message: string } };

/** The thread's entry point; it runs one job at a time. */
export default async function runJob({ do: operation, args }: Job): Promise<JobResult> {
  // Each job has the arguments of its operation.
  const work = workbooksInProcess[operation].bind(workbooksInProcess) as (
    ...operationArgs: unknown[]
  ) => Promise<unknown>;
  try {
    return { result: await work(...args) };
  } catch (error) {
    if (error instanceof WorkbookRefused) return { refused: { code: error.code, message: error.message } };
    throw error;
  }
}

/** An idle thread ends after this time, which frees its memory. */
const IDLE_MS = 30_000;

/**
 * Runs in a thread with limits of time and memory, so that no file can block or crash the worker. One job at a time, in
 * turns by exporter, because two of the largest do not fit into a small machine.
 */
export function createWorkbookThreads({ timeoutMs = 60_000, memoryMb = 192, execArgv }: BoundedThread = {}): Workbooks {
  const limits = { idleMs: IDLE_MS, timeoutMs, memoryMb, execArgv };
  const thread = createBoundedThread<Job, JobResult>(__filename, limits);

  const workbooksOf = (owner: string): Workbooks => {
    async function run<O extends Job['do']>(
      operation: O,
      args: Parameters<Workbooks[O]>,
    ): Promise<Awaited<ReturnType<Workbooks[O]>>> {
      const outcome = await thread.run({ do: operation, args }, owner).catch((error: unknown) => {
        throw limitOf(error) ?? error;
      });
      if ('refused' in outcome) throw new WorkbookRefused(outcome.refused.code, outcome.refused.message);
      return outcome.result as Awaited<ReturnType<Workbooks[O]>>;
    }
    return {
      toXlsx: async (...args) => bufferOf(await run('toXlsx', args)),
      check: (...args) => run('check', args),
      annotate: async (...args) => bufferOf(await run('annotate', args)),
      write: async (...args) => bufferOf(await run('write', args)),
      templateLabels: (...args) => run('templateLabels', args),
      of: workbooksOf,
      close: () => thread.close(),
    };
  };
  return workbooksOf('');
}

function limitOf(error: unknown): WorkbookRefused | undefined {
  const { name, code } = error as { name?: string; code?: string };
  if (name === 'AbortError') return oversized('too_slow', 'The workbook takes longer than any normal one');
  if (code !== 'ERR_WORKER_OUT_OF_MEMORY') return undefined;
  return oversized('too_large', 'The workbook needs more memory than is allowed');
}
