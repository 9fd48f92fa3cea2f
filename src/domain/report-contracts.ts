/** Input and result of the workflow `dailyReport`. */
import { z } from 'zod';
import { isoDate, mode } from './contracts';

export const dailyReportInput = z.strictObject({
  mode,
  on: isoDate.optional().describe('the day that it is about; left out: today in Asia/Kolkata'),
  grouping: z.enum(['western', 'indian']).default('western').describe('1,234,567 or 12,34,567'),
});
export type DailyReportInput = z.input<typeof dailyReportInput>;

const storedReport = z.object({
  document: z.string().describe('its name in the document store'),
  path: z.string(),
  sha256: z.string(),
  bytes: z.number().int(),
});

/** The documents of a daily report, and its main figures; definitions, trends and rows are in the documents. */
export const dailyReportResult = z.object({
  on: z.string(),
  madeAt: z.string(),
  page: storedReport,
  workbook: storedReport,
  alarms: z.number().int().describe('figures beyond what is meant to be'),
  figures: z.array(
    z.object({
      group: z.string(),
      id: z.string(),
      value: z.union([z.string(), z.number(), z.null()]).describe('amounts are exact decimal text, instants ISO 8601'),
      currency: z.string().optional(),
      alarm: z.boolean(),
    }),
  ),
});
export type DailyReportResult = z.infer<typeof dailyReportResult>;
