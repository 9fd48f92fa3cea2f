import { z } from 'zod';
import { emailAddress } from '../../domain/exporter/exporter';
import { flag, record, requiredText, text } from './tolerant';

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
