import type { Grouping, Report } from './report';
import { bufferOf, createBoundedThread, type BoundedThread } from '../workbook/bounded-thread';

export type ReportForm = 'html' | 'xlsx';

/** Maximum number of rows of a table; longer tables belong in a workbook. */
export const ROWS_LISTED: Readonly<Record<ReportForm, number>> = { html: 500, xlsx: 20_000 };

/** Renders reports. The implementation decides in which thread. */
export interface ReportRenderer {
  render(report: Report, how: { form: ReportForm; grouping: Grouping }): Promise<Buffer>;
  /** Stops the thread, if there is one. */
  close(): Promise<void>;
}

/** Runs in the calling thread. That suits a command, but would block a worker for seconds. */
export const reportsInProcess: ReportRenderer = {
  async render(report, { form, grouping }) {
    if (form === 'html') {
      return Buffer.from((await import('./write-html.js')).writeReportHtml(report, { grouping }));
    }
    return (await import('./write-workbook.js')).writeReportWorkbook(report, { grouping });
  },
  close: () => Promise.resolve(),
};

/** Returns links to workflows in the Temporal UI; null if the UI's address is not configured. */
export function workflowLinks(
  ui: { address: string; namespace: string } | undefined,
): ((workflowId: string) => string) | null {
  if (!ui) return null;
  const root = `${ui.address}/namespaces/${encodeURIComponent(ui.namespace)}/workflows`;
  return (workflowId) => `${root}/${encodeURIComponent(workflowId)}`;
}

/** The thread's entry point; it renders one report at a time. */
export default function runJob({
  report,
  form,
  grouping,
}: {
  report: Report;
  form: ReportForm;
  grouping: Grouping;
}): Promise<Uint8Array> {
  return reportsInProcess.render(report, { form, grouping });
}

/** There is one report a day, so the thread ends soon after its page and workbook are rendered. */
const IDLE_MS = 1_000;

/** Renders reports in a separate thread, because charts and thousands of cells would delay a worker's heartbeats. */
export function createReportThread({
  timeoutMs = 180_000,
  memoryMb = 256,
  execArgv,
}: BoundedThread = {}): ReportRenderer {
  const thread = createBoundedThread<Parameters<typeof runJob>[0], Uint8Array>(__filename, {
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
