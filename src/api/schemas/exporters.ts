import { z } from 'zod';
import { emailAddress } from '../../domain/contracts';
import { flag, record, requiredText, text, texts, code, number } from './tolerant';

/** Outgoing schemas are strict, because the service rejects unknown properties (spec: "POST /platform-customers"). */
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

/** The only fields that PATCH accepts. */
export const updateCustomerBody = z.strictObject({
  name: z.string().trim().min(1).optional(),
  companyName: z.string().optional(),
  address: z.string().optional(),
});

export const credentialsBody = z.strictObject({ dgftUsername: z.string().min(1), dgftPassword: z.string().min(1) });

const dgftApiStatus = record({ state: text, activatesAt: text, sharedCredentialsLikely: flag })
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

/**
 * Platform customer (spec: "Platform customer (client object)"). Get and list omit `mode`, list also `dgftApiStatus`:
 * both are null then. `state` is any text, so that an unknown value is no failure.
 */
export const customer = record({
  id: requiredText,
  ...texts('name', 'email', 'type', 'companyName', 'iec', 'address', 'platformId', 'mode'),
  isActive: flag,
  hasDgftCredentials: flag,
  dgftApiStatus,
  ...texts('createdAt', 'updatedAt'),
});
export type Customer = z.output<typeof customer>;

/** Saved IRM record (spec: "Saved IRM record"). Amounts are in currency `remittanceFCC`; `irmStatus` is any text. */
export const irm = record({
  id: text,
  irmNumber: requiredText,
  ...texts('irmIssueDate', 'irmStatus', 'ifscCode', 'remittanceAdCode', 'remittanceDate', 'remittanceFCC'),
  remittanceFCCAmount: number,
  ormAmountFCC: number,
  irmAvailableAmt: number,
  irmUtilizedAmt: number,
  ...texts('iecCode', 'panNumber', 'remitterName'),
  remitterCountry: code,
  ...texts('purposeOfRemittance', 'subjectType', 'userId', 'platformCustomerId', 'createdAt', 'updatedAt'),
});
export type Irm = z.output<typeof irm>;
