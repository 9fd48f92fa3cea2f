import { extname, join } from 'node:path';
import { bufferOf, createBoundedThread, type BoundedThread } from './bounded-thread';
import { WorkbookRefused } from './ooxml/limits';
import type { Job, JobResult } from './thread';
import type { Workbooks } from './workbooks';

/** An idle thread ends after this time and frees its memory. */
const IDLE_MS = 30_000;

/**
 * Processes workbooks in a separate thread, with limits on time and memory: whatever a file contains, it cannot block
 * or end the worker. One at a time, because a small machine has neither the cores nor the memory for two of the worst,
 * and in turns by exporter. The largest normal workbook takes seconds.
 */
export function createWorkbookThreads({ timeoutMs = 60_000, memoryMb = 192, execArgv }: BoundedThread = {}): Workbooks {
  const filename = join(__dirname, `thread${extname(__filename)}`);
  const thread = createBoundedThread<Job, JobResult>(filename, { idleMs: IDLE_MS, timeoutMs, memoryMb, execArgv });

  async function run(job: Job, whose: string): Promise<JobResult> {
    try {
      const result = await thread.run(job, whose);
      if ('refused' in result) throw new WorkbookRefused(result.refused.code, result.refused.message);
      return result;
    } catch (error) {
      throw limitOf(error) ?? error;
    }
  }

  async function bytesOf(job: Job, whose: string): Promise<Buffer> {
    const result = await run(job, whose);
    if (!('bytes' in result)) throw new Error(`The job ${job.do} gave no workbook.`);
    return bufferOf(result.bytes);
  }

  const workbooksOf = (whose: string): Workbooks => ({
    async check(source, context, template) {
      const result = await run({ do: 'check', source, context, template }, whose);
      if (!('checked' in result)) throw new Error('The job check gave no result.');
      return result.checked;
    },
    annotate: (annotation) => bytesOf({ do: 'annotate', annotation }, whose),
    write: (rows, template) => bytesOf({ do: 'write', rows, template }, whose),
    async templateLabels(source) {
      const result = await run({ do: 'templateLabels', source }, whose);
      return 'labels' in result ? result.labels : [];
    },
    of: workbooksOf,
    close: () => thread.close(),
  });
  return workbooksOf('');
}

function limitOf(error: unknown): WorkbookRefused | undefined {
  const { name, code } = error as { name?: string; code?: string };
  if (name === 'AbortError') {
    return new WorkbookRefused(
      'too_slow',
      'The workbook takes longer than any normal one. Copy the filled rows into a new workbook and save that.',
    );
  }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new WorkbookRefused(
      'too_large',
      'The workbook needs more memory than is allowed. Copy the filled rows into a new workbook and save that.',
    );
  }
  return undefined;
}
