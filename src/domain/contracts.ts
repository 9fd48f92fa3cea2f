/** Inputs and results of the workflows, for callers in any Temporal SDK. `schemas/` is generated from this file. */
import { z } from 'zod';
import { FILING_STATES } from './filing/states';
import { MAX_FILINGS_OF_REFERENCE, namesAnotherFiling } from './names';
import { isStorable } from './text';
import { personKey } from './principal';

/** A text that PostgreSQL can store. */
export const text = z.string().refine(isStorable, 'has a NUL or half a character');

export const mode = z
  .enum(['test', 'live'])
  .describe('test for a dev_ key, live for a prod_ key; must be the mode of the worker’s key');
/** One plausible e-mail address; the service decides whether it accepts it. */
export const emailAddress = text
  .trim()
  .max(254)
  .regex(/^[^\s@"<>,;]+@[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)+$/u, 'is not an e-mail address');

const reference = text
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^/\s][^\s]*$/u, 'a reference has no white space and does not start with a slash');

export const onboardInput = z.strictObject({
  mode,
  name: text.trim().min(1).max(1_000),
  email: emailAddress,
  companyName: text.max(1_000).optional(),
  iec: z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9]{10}$/u, 'an IEC is exactly 10 letters and digits')
    .optional(),
  address: text.max(1_000).optional(),
  credentialsRef: z.uuid().optional().describe('vault reference of the portal user name and password'),
  startedBy: text.max(200).default('unknown').describe('who gives the consent to submit the credentials'),
});
export type OnboardInput = z.input<typeof onboardInput>;

/** Result and progress of onboarding and of a credential update; `activatesAt` is ISO 8601. */
export const exporterProgress = z.object({
  exporterId: z.string().nullable(),
  workflowId: z.string(),
  state: z.enum(['started', 'needs_credentials', 'activation_pending', 'ready', 'refused']),
  activatesAt: z.string().nullable(),
  irmCount: z.number().int().nullable(),
  message: z.string().nullable().describe('what a person should know or do next'),
  errors: z.array(z.object({ code: z.string(), message: z.string() })),
});
export type ExporterProgress = z.infer<typeof exporterProgress>;

export const updateCredentialsInput = z.strictObject({
  mode,
  exporterId: text.min(1),
  credentialsRef: z.uuid().optional(),
  startedBy: text.max(200).default('unknown'),
});

export const changeExporterInput = z
  .strictObject({
    mode,
    exporterId: text.min(1),
    name: text.trim().min(1).max(1_000).optional(),
    companyName: text.max(1_000).optional(),
    address: text.max(1_000).optional(),
  })
  .refine(({ name, companyName, address }) => [name, companyName, address].some((value) => value !== undefined), {
    message: 'give name, companyName or address',
  });
export type ChangeExporterInput = z.input<typeof changeExporterInput>;

export const changeExporterResult = z.object({
  exporterId: z.string(),
  state: z.enum(['changed', 'refused']),
  errors: z.array(z.object({ code: z.string(), message: z.string() })),
});
export type ChangeExporterResult = z.infer<typeof changeExporterResult>;

export const refreshIrmsInput = z.strictObject({
  mode,
  exporterId: text.min(1).optional().describe('left out: every exporter that is ready'),
});
export type RefreshIrmsInput = z.input<typeof refreshIrmsInput>;

export const refreshIrmsResult = z.object({
  exporters: z.number().int(),
  refreshed: z.number().int(),
  irmCount: z.number().int(),
  skipped: z.array(z.object({ exporterId: z.string(), reason: z.string() })),
});
export type RefreshIrmsResult = z.infer<typeof refreshIrmsResult>;

const permittedDuplicate = z.strictObject({
  row: z.number().int().describe('the Excel row (header is 1) of a workbook, the serialNo of a push message'),
  besides: z
    .array(text.min(1))
    .optional()
    .describe(
      'filings or certificates that it may be filed beside; left out: all that stand against it when it is recorded',
    ),
  reason: text.trim().min(1).max(500),
});

export const fileInput = z
  .strictObject({
    mode,
    exporterId: text.min(1).max(200).describe('the id that onboarding returned, not an e-mail'),
    reference: reference.optional().describe('the caller’s own name for the filing; left out: made from its content'),
    uploadType: z.union([z.literal(101), z.literal(102), z.literal(103), z.literal(104)]).optional(),
    declaration: z.enum(['Y', 'N']).optional().describe('a legal statement; the message may contain it instead'),
    channel: z.enum(['auto', 'push', 'bulk']).default('auto'),
    inputRef: text.max(200).optional().describe('ledger reference of the rows'),
    message: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('a push message, when the rows are few; beside inputRef it is read where the ledger lacks those rows'),
    madeBy: text
      .max(200)
      .default('unknown')
      .describe('a claimed name; the principal who handed the rows in takes precedence'),
    approval: z.boolean().optional().describe('true: wait for approve by somebody other than the maker'),
    allowDuplicate: z
      .array(permittedDuplicate)
      .optional()
      .describe(
        'rows that two persons let pass although something stands against them; a push message may contain it itself',
      ),
    corrects: text.max(200).optional().describe('filing of the same reference whose freed rows this one files again'),
    n: z
      .number()
      .int()
      .min(1)
      .max(MAX_FILINGS_OF_REFERENCE)
      .default(1)
      .describe('number of the filing within its reference: 1, then one more for each correction'),
    resume: text
      .max(200)
      .optional()
      .describe('a recorded filing that continues in a new run; nothing else is read then'),
  })
  .refine(({ inputRef, message, resume }) => ((inputRef ?? message) === undefined) !== (resume === undefined), {
    message: 'give message or inputRef',
  })
  .refine(({ reference: name, n, resume }) => resume !== undefined || n > 1 || !namesAnotherFiling(name), {
    ...{
      path: ['reference'],
      message: 'a reference does not end in # and digits, and is no id of a filing or workflow',
    },
  });
export type FileInput = z.input<typeof fileInput>;

const counts = z.object({
  rows: z.number().int(),
  certified: z.number().int(),
  archived: z.number().int(),
  errored: z.number().int().describe('rows that were rejected or released'),
  corrected: z.number().int().describe('errored rows that a correction files again'),
  open: z.number().int(),
});

export const NO_ROWS: FilingResult['counts'] = {
  rows: 0,
  certified: 0,
  archived: 0,
  errored: 0,
  corrected: 0,
  open: 0,
};

/** A problem of a filing, as the command line, workbooks and the ledger have it. */
export const finding = z.object({
  severity: z.enum(['error', 'warning']),
  /** Stable snake_case code for programs. */
  code: z.string(),
  /** Excel row (header is 1) of a workbook or `serialNo` of a JSON message; null: about the whole filing. */
  row: z.number().int().nullable(),
  /** The JSON field name, not the column header; null: about the whole row or filing. */
  field: z.string().nullable(),
  /** One sentence that says what is wrong and what to do. */
  message: z.string(),
  /** Column letter, for a workbook. */
  column: z.string().optional(),
  /** The filing that holds the mapping, the balance or a part of the document, if that is the reason. */
  filingId: z.string().optional(),
  /** The certificate that stands against the row. */
  eBRCNumber: z.string().optional(),
  allowDuplicate: z
    .string()
    .optional()
    .describe('the value of --allow-duplicate that lets just the refused rows pass: 17,203=REASON'),
  count: z.number().int().optional().describe('code more_errors or more_warnings: how many are not listed'),
});

const filingState = z.enum(FILING_STATES);

const resultRow = z.object({
  row: z.number().int().describe('as in errors: of the workbook, or the serialNo of a push message'),
  serialNo: z.number().int(),
  irmNumber: z.string(),
  sbCumInvoiceNumber: z.string(),
  state: z.string(),
  eBRCNumber: z.string().nullable(),
  pdf: z.string().nullable().describe('file name of the PDF in the document store'),
  sha256: z.string().nullable(),
  errors: z.array(z.string()).describe('the authority’s errors; long ones are cut'),
});

/** The most rows in a result, because a history stores them again with each move that shows rows. */
export const ROWS_IN_RESULT = 200;

/** Result of `fileRemittances`, and answer to the query `filing`. */
export const filingResult = z.object({
  filingId: z.string().nullable(),
  workflowId: z.string(),
  reference: z.string(),
  n: z.number().int(),
  state: z
    .enum([...FILING_STATES, 'refused'])
    .describe('refused: the run recorded nothing; errors says why, recorded names the filing under its reference'),
  recorded: z
    .object({ filingId: z.string(), state: filingState, counts })
    .nullable()
    .describe('for a refused run: the filing that is recorded under its reference'),
  contentHash: z.string().nullable().describe('of the filing, or for a refused run of the refused content'),
  requestId: z.string().nullable(),
  dgftAckId: z.string().nullable(),
  counts,
  attention: z.string().nullable(),
  asked: z.boolean().describe('whether a person can answer now'),
  errors: z
    .array(finding)
    .describe('the first 50; the ledger has all errors of a workbook, and the first 50 of a message'),
  attempt: z
    .number()
    .int()
    .nullable()
    .describe('the attempt that may have arrived, which a decision answers; null: none'),
  evidence: z
    .array(z.object({ name: z.string(), text: z.string() }))
    .describe('what speaks against "not filed", or against sending it, as of the last reading'),
  rows: z
    .array(resultRow)
    .describe(`the first ${ROWS_IN_RESULT}, once the authority was asked about them, as of the last change of state`),
  moreRows: z.string().nullable().describe('how to read the other rows; null: there are none'),
});
export type FilingResult = z.infer<typeof filingResult>;

/** Argument of the update `submitCredentials` on an onboarding or an update of credentials. */
export const submitCredentialsArgs = z.strictObject({
  credentialsRef: z.uuid().describe('vault reference of the portal user name and password'),
  by: text
    .max(200)
    .refine((name) => personKey(name) !== '', 'names nobody')
    .describe('who gives the consent to submit them'),
});

/** The first detail of the ApplicationFailure with which the update fails. */
export const refusalDetails = z.object({
  code: z.string(),
  errors: z.array(finding),
});
