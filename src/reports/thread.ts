/** Runs in the thread of threads.ts: one report at a time. */
import type { Grouping, Report } from './report';
import { reportsInProcess, type ReportForm } from './render';

export interface ReportJob {
  report: Report;
  form: ReportForm;
  grouping: Grouping;
}

export default function run({ report, form, grouping }: ReportJob): Promise<Uint8Array> {
  return reportsInProcess.render(report, { form, grouping });
}
