import { Piscina } from 'piscina';

export interface BoundedThread {
  /** A job that takes longer is given up with its thread. */
  timeoutMs?: number;
  /** Heap of the thread in MB; bytes of files come on top. */
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
 * Jobs one at a time in a thread of their own, bounded in time and memory. The thread starts with a job, ends after
 * `idleMs` without one, and sees nothing of the environment.
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

/** Bytes as they come out of a thread. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
