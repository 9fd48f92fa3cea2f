import type { DailyReportInput, DailyReportResult } from '../domain/contracts';
import { calls } from './activity-profiles';
import { needInput } from './need-input';

/** Writes the daily report into the document store; runs on a schedule, whose last result names the document. */
export async function dailyReport(input: DailyReportInput): Promise<DailyReportResult> {
  needInput('dailyReport', input);
  return calls('document', { summary: 'Write the daily report', priorityKey: 5 }).writeDailyReport({ input });
}
