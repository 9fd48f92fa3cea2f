/** Runs in the thread of threads.ts: one report at a time. */
import type { Grouping } from './format';
import { reportsInProcess, type ReportForm } from './render';
import type { Report } from './report';

export interface ReportJob {
  report: Report;
  form: ReportForm;
  grouping: Grouping;
}

export default function run({ report, form, grouping }: ReportJob): Promise<Uint8Array> {
  return reportsInProcess.render(report, { form, grouping });
}
