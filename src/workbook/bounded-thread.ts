import type { Piscina } from 'piscina';

export interface BoundedThread {
  /** A job that takes longer is terminated together with its thread. */
  timeoutMs?: number;
  /** Heap of the thread in MB; the bytes of files are not included. */
  memoryMb?: number;
  /** Arguments of Node for the thread; default those of this process. */
  execArgv?: string[];
}

/** Runs jobs one at a time in a thread with limits on time and memory, which ends after `idleMs` without one. */
export function createBoundedThread<Job, Result>(
  filename: string,
  limits: { idleMs: number; timeoutMs: number; memoryMb: number; execArgv: string[] | undefined },
) {
  const { idleMs, timeoutMs, memoryMb, execArgv } = limits;
  const turns = new Turns();
  let opened: Promise<Piscina<Job, Result>> | undefined;
  const open = async () => {
    // Only what runs a job pays for loading it.
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
     * @param whose of whom the job is: those who wait take turns, whoever has how many
     * @throws AbortError after the time-out, ERR_WORKER_OUT_OF_MEMORY beyond the heap
     */
    run: (job: Job, whose = ''): Promise<Result> =>
      turns.take(whose, async () => {
        const pool = await (opened ??= open());
        return pool.run(job, { signal: AbortSignal.timeout(timeoutMs) });
      }),
    close: async (): Promise<void> => (await opened)?.destroy(),
  };
}

/** One job at a time; those who wait take turns. */
class Turns {
  private busy = false;
  /** By whom they wait; who was served last stands last. */
  private readonly waiting = new Map<string, (() => void)[]>();

  async take<T>(whose: string, job: () => Promise<T>): Promise<T> {
    if (this.busy)
      await new Promise<void>((resolve) => this.waiting.set(whose, [...(this.waiting.get(whose) ?? []), resolve]));
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
    const [whose, [begin, ...others]] = first;
    this.waiting.delete(whose);
    if (others.length > 0) this.waiting.set(whose, others);
    begin?.();
  }
}

/** The bytes that come from another thread, which are plain ones there. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
