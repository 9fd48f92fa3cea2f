/** Runs in the thread of render.ts: one report at a time. */
import { reportsInProcess, type ReportJob } from './render';

export default function run({ report, form, grouping }: ReportJob): Promise<Uint8Array> {
  return reportsInProcess.render(report, { form, grouping });
}
