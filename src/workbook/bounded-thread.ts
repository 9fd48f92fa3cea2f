import { Piscina } from 'piscina';

export interface BoundedThread {
  /** A job that takes longer is terminated together with its thread. */
  timeoutMs?: number;
  /** Heap of the thread in MB; the bytes of files are not included. */
  memoryMb?: number;
  /** Arguments of Node for the thread; default those of this process. */
  execArgv?: string[];
}

export interface BoundedJobs<Job, Result> {
  /** @throws AbortError after the time-out, ERR_WORKER_OUT_OF_MEMORY beyond the heap */
  run(job: Job): Promise<Result>;
  close(): Promise<void>;
}

/**
 * Runs jobs one at a time in a separate thread, with limits on time and memory. The thread starts with a job, ends
 * after `idleMs` without one, and has an empty environment.
 */
export function createBoundedThread<Job, Result>(
  filename: string,
  {
    idleMs,
    timeoutMs,
    memoryMb,
    execArgv,
  }: Required<Omit<BoundedThread, 'execArgv'>> & {
    idleMs: number;
    execArgv: string[] | undefined;
  },
): BoundedJobs<Job, Result> {
  const pool = new Piscina<Job, Result>({
    filename,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
    ...(execArgv && { execArgv }),
  });
  return {
    run: (job) => pool.run(job, { signal: AbortSignal.timeout(timeoutMs) }),
    close: () => pool.destroy(),
  };
}

/** Converts the bytes that a thread returns. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
