import { extname, join } from 'node:path';
import { Piscina } from 'piscina';
import type { ReportRenderer } from './render';
import type { ReportJob } from './thread';

export interface ReportThread {
  /** A report that takes longer is given up with its thread; default three minutes. */
  timeoutMs?: number;
  /** Heap of the thread in MB. */
  memoryMb?: number;
  /** Arguments of Node for the thread; default those of this process. */
  execArgv?: string[];
}

/** There is one report a day: the thread ends as soon as its page and its workbook are drawn. */
const IDLE_MS = 1_000;

/** Draws reports in a thread of its own: charts and thousands of cells would hold a worker's heartbeats up. */
export function createReportThread({
  timeoutMs = 180_000,
  memoryMb = 256,
  execArgv,
}: ReportThread = {}): ReportRenderer {
  const pool = new Piscina<ReportJob, Uint8Array>({
    filename: join(__dirname, `thread${extname(__filename)}`),
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_MS,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
    ...(execArgv && { execArgv }),
  });
  return {
    async render(report, how) {
      const bytes = await pool.run({ report, ...how }, { signal: AbortSignal.timeout(timeoutMs) });
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    close: () => pool.destroy(),
  };
}
