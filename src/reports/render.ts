import type { Grouping, Report } from './report';

/** The form of a report: an HTML page or a workbook. */
export type ReportForm = 'html' | 'xlsx';

/** Longer tables belong in a workbook. */
export const ROWS_LISTED: Readonly<Record<ReportForm, number>> = { html: 500, xlsx: 20_000 };

/** Draws reports; the implementation decides in which thread. */
export interface ReportRenderer {
  render(report: Report, how: { form: ReportForm; grouping: Grouping }): Promise<Buffer>;
  /** Stops the thread, if there is one. */
  close(): Promise<void>;
}

/** Runs in the current thread: suitable for a command, but it would block a worker for seconds. */
export const reportsInProcess: ReportRenderer = {
  async render(report, { form, grouping }) {
    if (form === 'html') {
      return Buffer.from((await import('./write-html.js')).writeReportHtml(report, { grouping }));
    }
    return (await import('./write-workbook.js')).writeReportWorkbook(report, { grouping });
  },
  close: () => Promise.resolve(),
};

/** Address of a workflow in the Temporal UI; null if the UI's address is not configured. */
export function workflowLinks(
  ui: { address: string; namespace: string } | undefined,
): ((workflowId: string) => string) | null {
  if (!ui) return null;
  const root = `${ui.address}/namespaces/${encodeURIComponent(ui.namespace)}/workflows`;
  return (workflowId) => `${root}/${encodeURIComponent(workflowId)}`;
}
