/** Inputs and results of the workflows `reconcile` and `dailyReport`. */
import { z } from 'zod';
import { mode, text } from './contracts';
import { parseFilingDate } from './dates';
import { FINDING_KINDS, RECONCILE_CHECKS } from './reconciliation/findings';

/** A day, YYYY-MM-DD. */
export const isoDate = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/u, 'a date is YYYY-MM-DD')
  .refine((text) => parseFilingDate(text).ok, 'is not a calendar day');

export const reconcileInput = z
  .strictObject({
    mode,
    exporterId: text.min(1).optional().describe('left out: every exporter'),
    from: isoDate.optional().describe('first day of issue; left out: 89 days with `to`'),
    to: isoDate.optional().describe('last day of issue; left out: today in Asia/Kolkata'),
    checks: z.array(z.enum(RECONCILE_CHECKS)).min(1).optional().describe('left out: all of them'),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    message: 'is after `to`',
    path: ['from'],
  });
export type ReconcileInput = z.input<typeof reconcileInput>;

/** Result and progress of a reconciliation. The findings themselves are in the ledger: `ebrc findings`. */
export const reconcileResult = z.object({
  runId: z.string(),
  workflowId: z.string(),
  state: z.enum(['started', 'done']),
  from: z.string(),
  to: z.string(),
  companies: z.number().int().describe('companies compared so far; clients with one IEC are one company'),
  opened: z.number().int(),
  closed: z.number().int(),
  healed: z.number().int(),
  counts: z
    .record(z.enum(FINDING_KINDS), z.number().int())
    .describe('open findings of the reconciled companies, by kind'),
  skipped: z.array(z.object({ exporterId: z.string(), reason: z.string() })),
});
export type ReconcileResult = z.infer<typeof reconcileResult>;

export const dailyReportInput = z.strictObject({
  mode,
  on: isoDate.optional().describe('the day of the report; left out: today in Asia/Kolkata'),
  grouping: z.enum(['western', 'indian']).default('western').describe('1,234,567 or 12,34,567'),
});
export type DailyReportInput = z.input<typeof dailyReportInput>;

const storedReport = z.object({
  document: z.string().describe('its name in the document store'),
  path: z.string(),
  sha256: z.string(),
  bytes: z.number().int(),
});

/** The documents of a daily report and its main figures. Definitions, trends and rows are only in the documents. */
export const dailyReportResult = z.object({
  on: z.string(),
  madeAt: z.string(),
  page: storedReport,
  workbook: storedReport,
  alarms: z.number().int().describe('number of figures outside their intended range'),
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
