import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isDdmmyyyy } from './calendar';
import { faultSchema } from '../faults/fault-schema';

const filingDate = z.string().refine(isDdmmyyyy, 'must be a real date as DDMMYYYY');
const amount = z.number().nonnegative();

export const irmSchema = z.strictObject({
  irmNumber: z.string().min(1),
  /** DDMMYYYY. */
  irmIssueDate: filingDate,
  /** DDMMYYYY; the issue date when left out. */
  remittanceDate: filingDate.optional(),
  irmStatus: z.string().default('fresh'),
  ifscCode: z.string(),
  remittanceAdCode: z.string(),
  remittanceFCC: z.string().length(3),
  remittanceFCCAmount: amount,
  /** What is left to map; the whole remittance when left out. */
  irmAvailableAmt: amount.optional(),
  ormAmountFCC: amount.default(0),
  remitterName: z.string().default('Overseas Buyer'),
  remitterCountry: z.string().default('UNITED STATES'),
  purposeOfRemittance: z.string().default('P0103'),
});

/** A certificate that exists at the start, as if it had been filed before. */
export const certificateSchema = z.strictObject({
  eBRCNumber: z.string().min(1),
  eBRCDate: filingDate,
  irmNumber: z.string().default(''),
  billNo: z.string().default(''),
  sbCumInvoiceNumber: z.string(),
  sbCumInvoiceDate: filingDate,
  realisedValueFCC: amount,
  currencyCode: z.string().length(3),
  realizationDt: filingDate,
  eBRCStatus: z.string().default('Issued'),
  brcUtilStatus: z.string().default('Unutilised'),
});

export const accountSchema = z.strictObject({
  username: z.string().min(1),
  password: z.string().min(1),
  iec: z.string().regex(/^[A-Z0-9]{10}$/, 'must be 10 upper-case letters and digits'),
  panNumber: z.string().default(''),
  locked: z.boolean().default(false),
  /** The exporter already held API credentials at the authority (`sharedCredentialsLikely`). */
  sharedCredentials: z.boolean().default(false),
  /** Overrides the sandbox's activation delay for this account; 0 is ready at once. */
  activationDelayMs: z.number().nonnegative().optional(),
  /** Failed portal logins in a row after which the portal locks the account; never when left out. */
  lockAfterFailedLogins: z.number().int().positive().optional(),
  irms: z.array(irmSchema).default([]),
  certificates: z.array(certificateSchema).default([]),
});

export const keySchema = z.strictObject({
  key: z.string().regex(/^(dev|prod)_.+/, 'must start with dev_ or prod_'),
  /** A key that is not a platform key is refused with 403. */
  kind: z.enum(['platform', 'other']).default('platform'),
  /** The platform account that owns the key; e-mail addresses and usernames are unique within it, per mode. */
  platformId: z.string().default('platform-sandbox'),
  ndaSigned: z.boolean().default(true),
  masterAgreementSigned: z.boolean().default(true),
  revoked: z.boolean().default(false),
});

/** Overrides the authority's decision on rows that match. */
export const outcomeSchema = z.strictObject({
  match: z.strictObject({ irmNumber: z.string().optional(), document: z.string().optional() }),
  processingStatus: z.enum(['Processed', 'Errored']),
  errorDetails: z.array(z.unknown()).default([]),
  /** How many rows it applies to; all when left out. */
  times: z.number().int().positive().optional(),
});

export const seedSchema = z.strictObject({
  keys: z.array(keySchema).optional(),
  extractionKeys: z.array(z.string().min(1)).optional(),
  accounts: z.array(accountSchema).optional(),
  faults: z.array(faultSchema).default([]),
  outcomes: z.array(outcomeSchema).default([]),
});

/** The content of a seed file, with optional parts left out; docs/sandbox.md describes it. */
export type Seed = z.input<typeof seedSchema>;
export type ParsedSeed = z.output<typeof seedSchema>;
export type SeedIrm = z.output<typeof irmSchema>;
export type SeedAccount = z.output<typeof accountSchema>;
export type ApiKey = z.output<typeof keySchema>;

/** Reads a seed from an object or a JSON file. @throws Error that names the file and every wrong field */
export function loadSeed(source: Seed | string): ParsedSeed {
  const [name, content] = typeof source === 'string' ? [source, readJson(source)] : ['the seed', source];
  const parsed = seedSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new Error(`${name} is not a sandbox seed:\n${z.prettifyError(parsed.error)}`);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    throw new Error(`The seed file ${path} could not be read as JSON: ${(error as Error).message}`, { cause: error });
  }
}
