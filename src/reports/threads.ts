import { extname, join } from 'node:path';
import { bufferOf, createBoundedThread, type BoundedThread } from '../workbook/bounded-thread';
import type { ReportRenderer } from './render';
import type { ReportJob } from './thread';

/** There is one report a day, so the thread ends as soon as its page and its workbook are drawn. */
const IDLE_MS = 1_000;

/** Draws reports in a separate thread: charts and thousands of cells would delay a worker's heartbeats. */
export function createReportThread({
  timeoutMs = 180_000,
  memoryMb = 256,
  execArgv,
}: BoundedThread = {}): ReportRenderer {
  const filename = join(__dirname, `thread${extname(__filename)}`);
  const thread = createBoundedThread<ReportJob, Uint8Array>(filename, {
    idleMs: IDLE_MS,
    timeoutMs,
    memoryMb,
    execArgv,
  });
  return {
    render: async (report, how) => bufferOf(await thread.run({ report, ...how })),
    close: () => thread.close(),
  };
}
