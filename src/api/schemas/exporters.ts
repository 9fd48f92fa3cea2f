import { z } from 'zod';
import { emailAddress } from '../../domain/contracts';
import { flag, record, requiredText, text, code, number } from './tolerant';

/**
 * Outgoing schemas are strict, because the service rejects every unknown property (spec: "POST /platform-customers").
 */
export const createCustomerBody = z.strictObject({
  name: z.string().trim().min(1),
  email: emailAddress,
  type: z.literal('customer'),
  companyName: z.string().optional(),
  iec: z
    .string()
    .trim()
    .toUpperCase()
    .regex(/^[A-Z0-9]{10}$/, 'iec must be exactly 10 alphanumeric characters')
    .optional(),
  address: z.string().optional(),
  dgftUsername: z.string().min(1).optional(),
  dgftPassword: z.string().min(1).optional(),
});
/** `type` is optional; it is always `customer`. */
export type CreateCustomerBody = Omit<z.input<typeof createCustomerBody>, 'type'> & { type?: 'customer' };

/** The only fields that PATCH accepts; only fields that are sent change. */
export const updateCustomerBody = z.strictObject({
  name: z.string().trim().min(1).optional(),
  companyName: z.string().optional(),
  address: z.string().optional(),
});
export type UpdateCustomerBody = z.input<typeof updateCustomerBody>;

export const credentialsBody = z.strictObject({ dgftUsername: z.string().min(1), dgftPassword: z.string().min(1) });
export type CredentialsBody = z.input<typeof credentialsBody>;

const dgftApiStatus = record({ state: text, activatesAt: text, sharedCredentialsLikely: flag })
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

/**
 * Platform customer (spec: "Platform customer (client object)"). A field without value is null; `mode` is omitted by
 * get and list, `dgftApiStatus` by list and until credentials are on file. `dgftApiStatus.state` is a plain text, so
 * that a word other than ready and activation_pending is no failure.
 */
export const customer = record({
  id: requiredText,
  name: text,
  email: text,
  type: text,
  companyName: text,
  iec: text,
  address: text,
  platformId: text,
  mode: text,
  isActive: flag,
  hasDgftCredentials: flag,
  dgftApiStatus,
  createdAt: text,
  updatedAt: text,
});
export type Customer = z.output<typeof customer>;

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
