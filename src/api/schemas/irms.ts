import { z } from 'zod';
import { code, number, record, requiredText, text } from './tolerant';

/**
 * Saved IRM record (spec: "Saved IRM record"). Dates are kept as they come (DDMMYYYY or ISO); amounts are in the
 * currency of `remittanceFCC`. `irmStatus` is a plain text: only the example `fresh` is documented.
 */
export const irm = record({
  id: text,
  irmNumber: requiredText,
  irmIssueDate: text,
  irmStatus: text,
  ifscCode: text,
  remittanceAdCode: text,
  remittanceDate: text,
  remittanceFCC: text,
  remittanceFCCAmount: number,
  ormAmountFCC: number,
  irmAvailableAmt: number,
  irmUtilizedAmt: number,
  iecCode: text,
  panNumber: text,
  remitterName: text,
  remitterCountry: code,
  purposeOfRemittance: text,
  subjectType: text,
  userId: text,
  platformCustomerId: text,
  createdAt: text,
  updatedAt: text,
});
export type Irm = z.output<typeof irm>;

const isoDate = z.string().regex(/^\d{4}-\d{2}-\d{2}/, 'must be an ISO date (YYYY-MM-DD)');

export const listIrmsQuery = z.strictObject({
  platformCustomerId: z.string().min(1),
  irmNumber: z.string().min(1).optional(),
  fromDate: isoDate.optional(),
  toDate: isoDate.optional(),
});
/** Query of GET /irm (spec: "GET /irm"); the dates are ISO dates. */
export type ListIrmsQuery = z.input<typeof listIrmsQuery>;
