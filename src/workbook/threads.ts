import { extname, join } from 'node:path';
import { Piscina } from 'piscina';
import { WorkbookRefused } from './ooxml/refused';
import type { Job, JobResult } from './thread';
import type { Workbooks } from './workbooks';

export interface WorkbookThreads {
  /**
   * A job that takes longer is ended with its thread; default a minute, where the largest honest workbook takes
   * seconds.
   */
  timeoutMs?: number;
  /** Heap of a thread in MB; bytes of files come on top, within the limits of what is read. */
  memoryMb?: number;
  /** Arguments of Node for the threads; default those of this process. */
  execArgv?: string[];
}

/** One at a time beside the worker's own thread: workbooks are rare, and a small machine has two cores. */
const THREADS = 1;
/** A thread that has nothing to do ends after this time, and gives its memory back. */
const IDLE_MS = 30_000;

/**
 * Workbooks in a thread of their own, with a bound on time and memory: whatever a file holds, it can neither hold up
 * nor end the worker. The thread sees nothing of the environment.
 */
export function createWorkbookThreads({
  timeoutMs = 60_000,
  memoryMb = 192,
  execArgv,
}: WorkbookThreads = {}): Workbooks {
  const pool = new Piscina<Job, JobResult>({
    filename: join(__dirname, `thread${extname(__filename)}`),
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
    ...(execArgv && { execArgv }),
  });

  async function run(job: Job): Promise<JobResult> {
    try {
      const result = await pool.run(job, { signal: AbortSignal.timeout(timeoutMs) });
      if ('refused' in result) throw new WorkbookRefused(result.refused.code, result.refused.message);
      return result;
    } catch (error) {
      throw limitOf(error) ?? error;
    }
  }

  async function bytesOf(job: Job): Promise<Buffer> {
    const result = await run(job);
    if (!('bytes' in result)) throw new Error(`The job ${job.do} gave no workbook.`);
    return Buffer.from(result.bytes.buffer, result.bytes.byteOffset, result.bytes.byteLength);
  }

  return {
    annotate: (annotation) => bytesOf({ do: 'annotate', annotation }),
    write: (rows, template) => bytesOf({ do: 'write', rows, template }),
    async templateLabels(source) {
      const result = await run({ do: 'templateLabels', source });
      return 'labels' in result ? result.labels : [];
    },
    close: () => pool.destroy(),
  };
}

function limitOf(error: unknown): WorkbookRefused | undefined {
  const { name, code } = error as { name?: string; code?: string };
  if (name === 'AbortError') {
    return new WorkbookRefused(
      'too_slow',
      'The workbook takes longer than any honest one. Copy the filled rows into a new workbook and save that.',
    );
  }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new WorkbookRefused(
      'too_large',
      'The workbook needs more memory than there is for one. Copy the filled rows into a new workbook and save that.',
    );
  }
  return undefined;
}
