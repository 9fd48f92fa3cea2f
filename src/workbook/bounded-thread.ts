import type { Piscina } from 'piscina';

export interface BoundedThread {
  /** A longer job is terminated together with its thread. */
  timeoutMs?: number;
  /** Heap of the thread in MB, without the bytes of files. */
  memoryMb?: number;
  /** Node's arguments for the thread; default: those of this process. */
  execArgv?: string[];
}

/** Runs one job at a time in a thread with limits of time and memory. The thread ends after `idleMs` without a job. */
export function createBoundedThread<Job, Result>(
  filename: string,
  limits: { idleMs: number; timeoutMs: number; memoryMb: number; execArgv: string[] | undefined },
) {
  const { idleMs, timeoutMs, memoryMb, execArgv } = limits;
  const turns = new Turns();
  let opened: Promise<Piscina<Job, Result>> | undefined;
  const open = async () => {
    // Loaded when the first job runs.
    const { Piscina } = (await import('piscina')).default;
    return new Piscina<Job, Result>({
      filename,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: idleMs,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
      ...(execArgv && { execArgv }),
    });
  };
  return {
    /**
     * @param owner the owner of the job; owners with waiting jobs take turns, however many jobs each has
     * @throws AbortError after the time-out, ERR_WORKER_OUT_OF_MEMORY beyond the heap
     */
    run: (job: Job, owner = ''): Promise<Result> =>
      turns.take(owner, async () => {
        const pool = await (opened ??= open());
        return pool.run(job, { signal: AbortSignal.timeout(timeoutMs) });
      }),
    close: async (): Promise<void> => (await opened)?.destroy(),
  };
}

/** Runs one job at a time; the owners of waiting jobs take turns. */
class Turns {
  private busy = false;
  /** Waiting jobs by owner; the owner that was served last stands last. */
  private readonly waiting = new Map<string, (() => void)[]>();

  async take<T>(owner: string, job: () => Promise<T>): Promise<T> {
    if (this.busy)
      await new Promise<void>((resolve) => this.waiting.set(owner, [...(this.waiting.get(owner) ?? []), resolve]));
    this.busy = true;
    try {
      return await job();
    } finally {
      this.next();
    }
  }

  private next(): void {
    const [first] = this.waiting;
    if (!first) {
      this.busy = false;
      return;
    }
    const [owner, [begin, ...others]] = first;
    this.waiting.delete(owner);
    if (others.length > 0) this.waiting.set(owner, others);
    begin?.();
  }
}

/** A Buffer of bytes from another thread, which arrive as a plain Uint8Array. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
