import type { Grouping } from './format';
import type { Report } from './report';

/** A page, or a workbook. */
export type ReportForm = 'html' | 'xlsx';

/** Longer tables belong into a workbook. */
export const ROWS_LISTED: Readonly<Record<ReportForm, number>> = { html: 500, xlsx: 20_000 };

/** Draws reports; where it runs is the implementation's business. */
export interface ReportRenderer {
  render(report: Report, how: { form: ReportForm; grouping: Grouping }): Promise<Buffer>;
  /** Ends what was started for it. */
  close(): Promise<void>;
}

/** In this thread: fit for a command, and not for a worker, which it would hold up for seconds. */
export const reportsInProcess: ReportRenderer = {
  async render(report, { form, grouping }) {
    if (form === 'html') {
      return Buffer.from((await import('./write-html.js')).writeReportHtml(report, { grouping }));
    }
    return (await import('./write-workbook.js')).writeReportWorkbook(report, { grouping });
  },
  close: () => Promise.resolve(),
};

/** Where the Temporal UI shows a workflow; null where its address is not configured. */
export function workflowLinks(
  ui: { address: string; namespace: string } | undefined,
): ((workflowId: string) => string) | null {
  if (!ui) return null;
  const root = `${ui.address}/namespaces/${encodeURIComponent(ui.namespace)}/workflows`;
  return (workflowId) => `${root}/${encodeURIComponent(workflowId)}`;
}
