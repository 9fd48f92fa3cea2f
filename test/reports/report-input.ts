import type { ReportInput } from '../../src/reports/make';

/** What a report is asked for with, at noon in Asia/Kolkata of its day. */
export const reportOn = (on: string): ReportInput => ({
  ...{ mode: 'test', on, now: new Date(`${on}T06:30:00Z`), rows: 100 },
  rules: [{ id: 'nine', inForceFrom: '2020-01-01', months: 9, source: 'a test', url: 'https://example.test' }],
  workflowUrl: (id) => `https://ui.example.test/${encodeURIComponent(id)}`,
});
