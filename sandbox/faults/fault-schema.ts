import { z } from 'zod';

/** The operations that a fault can be put on, and that the call log names. */
export const OPERATIONS = [
  'create-customer',
  'get-customer',
  'update-customer',
  'list-customers',
  'check-dgft-credentials',
  'push-irm',
  'bulk-upload',
  'status',
  'fetch-details',
  'download-pdf',
  'list-irms',
  'bulk-template',
  'refresh-irms',
  'extract-shipping-bill',
  'extract-shipping-bill-full',
  'extract-invoice',
] as const;
export type FaultedOperation = (typeof OPERATIONS)[number];

/** Faults that decide how, and whether, the answer is sent. At most one of them applies to a call. */
export const TRANSPORT_FAULTS = [
  'drop-before-accept',
  'reset-before-accept',
  'close-keep-alive',
  'accept-then-drop',
  'accept-then-reset',
  'close-after-answer',
  'hang',
  'slow',
  'status-429',
  '502-with-code',
  '502-bare',
  '500',
  'html-body',
  'empty-body',
  'truncated-json',
  'truncated-pdf',
  'hostile-texts',
  'odd-empties',
  'odd-pdf',
  'not-a-pdf',
] as const;

/** Faults that change what the service or the portal answers or does. Any number of them applies to a call. */
export const EFFECT_FAULTS = [
  'stale-status',
  'unknown-status-word',
  'processed-with-incomplete-list',
  'errored-empty',
  'failed-ack',
  'stale-balance',
  'empty-details',
  'pdf-not-found',
  'accepted-but-invisible',
  'irm-amended',
  'irm-cancelled',
  'password-expired',
  'account-locked',
  'activation-pending',
  'portal-down',
] as const;
export type EffectKind = (typeof EFFECT_FAULTS)[number];

export const faultSchema = z.strictObject({
  operation: z.union([z.enum(OPERATIONS), z.literal('*')]),
  kind: z.enum([...TRANSPORT_FAULTS, ...EFFECT_FAULTS]),
  /** Only calls that concern all of these; a status call concerns the rows of its request. */
  match: z
    .strictObject({
      irmNumber: z.string().optional(),
      document: z.string().optional(),
      eBRCNumber: z.string().optional(),
      platformCustomerId: z.string().optional(),
      requestId: z.string().optional(),
    })
    .default({}),
  /** How often it is applied at most. 1 when neither `every` nor `probability` is given, else unlimited. */
  times: z.number().int().positive().optional(),
  /** Applied to each nth matching call. */
  every: z.number().int().positive().optional(),
  /** Applied to a matching call with this probability, drawn from a generator seeded with `rngSeed`. */
  probability: z.number().min(0).max(1).optional(),
  rngSeed: z.number().int().default(1),
  skip: z.number().int().nonnegative().default(0),
  /** `slow`: real milliseconds of waiting; `accepted-but-invisible`: milliseconds on the sandbox clock. */
  delayMs: z.number().nonnegative().optional(),
  /** `slow`: waits after the call took effect, or before: then it takes effect although the caller gave up. */
  wait: z.enum(['before', 'after']).default('after'),
  /** Whether the call takes effect all the same: `hang`, `status-429`, 5xx (default false), the bodies (true). */
  process: z.boolean().optional(),
  /** HTTP status of `html-body` (default 502) and `empty-body` (default 200). */
  status: z.number().int().min(200).max(599).optional(),
  /** `truncated-…`: announce the whole length and cut the connection, instead of sending a short but complete body. */
  cutConnection: z.boolean().default(false),
  /** `unknown-status-word`: the word. */
  word: z.string().default('UnderProcess'),
  /** `failed-ack`: whether the status endpoint knows the request id afterwards, and how the request ends then. */
  statusKnown: z.boolean().default(false),
  outcome: z.enum(['Errored', 'Processed']).default('Errored'),
  /** `irm-amended`: what is left to map after the amendment; half of it when left out. */
  availableAmount: z.number().nonnegative().optional(),
  /** `password-expired`: the portal's new password. */
  newPassword: z.string().default('Changed-At-Portal-1'),
});

export type FaultInput = z.input<typeof faultSchema>;
export type Fault = z.output<typeof faultSchema>;

/**
 * A fault as a command line gives it, `push-irm:accept-then-drop,every=3`; values are JSON where they can be parsed.
 * @throws ZodError when it is none
 */
export function parseFault(text: string): Fault {
  // A comma inside a JSON value has no NAME= behind it.
  const [head = '', ...pairs] = text.split(/,(?=\w+=)/);
  const [operation, kind] = head.split(':');
  const settings = pairs.map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), jsonOrText(pair.slice(at + 1))];
  });
  return faultSchema.parse({ operation, kind, ...Object.fromEntries(settings) });
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
