/** Arguments and failures of the updates, for callers in any Temporal SDK. `schemas/` is generated from this file. */
import { z } from 'zod';
import { finding, text } from './contracts';
import { personKey } from './principal';
import { MAX_FILING_ROWS } from './service/limits';

const grant = text.max(100).optional().describe('id of the principal’s grant; without one, `by` is a claim');
const by = text
  .max(200)
  .refine((name) => personKey(name) !== '', 'names nobody')
  .describe('who says it');
const note = text.trim().min(1, 'is empty: say why').max(2_000);
const identifier = text.min(1).max(300);
const row = z.int32();

/** Arguments of the updates `approve`, `resolve` and `abandon` on a filing. */
export const approveArgs = z.strictObject({ by, note: text.max(2_000).optional(), grant });
export type ApproveArgs = z.infer<typeof approveArgs>;

export const resolveArgs = z
  .strictObject({
    as: z.enum(['filed', 'not-filed']),
    attemptId: identifier
      .optional()
      .describe('the attempt that the answer is about, as the filing shows it in `attempt`; any other is refused'),
    requestId: identifier
      .optional()
      .describe('filed: the request under which it was filed. not-filed: the request in question, if no attempt is'),
    rows: z
      .array(row)
      .min(1)
      .max(MAX_FILING_ROWS)
      .optional()
      .describe('not-filed about a request: only these rows of the caller’s file'),
    certificates: z
      .array(z.strictObject({ row, eBRCNumber: identifier }))
      .max(MAX_FILING_ROWS)
      .optional()
      .describe('filed: the certificate of each row; two persons have to name the same ones'),
    notOurs: z
      .array(identifier)
      .max(MAX_FILING_ROWS)
      .optional()
      .describe(
        'not-filed: certificates that agree with its rows, or requests that were named for it, but belong to another ' +
          'filing; two persons have to say so',
      ),
    unseen: z
      .boolean()
      .optional()
      .describe(
        'not-filed although no complete look at the certificates was possible for a settle window; two persons have to say so',
      ),
    note,
    by,
    grant,
  })
  .refine(
    ({ as, requestId, certificates = [] }) => as !== 'filed' || requestId !== undefined || certificates.length > 0,
    {
      message: 'is missing: give the request id under which it was filed, or the certificates of its rows',
      path: ['requestId'],
    },
  );
export type ResolveArgs = z.infer<typeof resolveArgs>;

export const abandonArgs = z.strictObject({ note, by, grant });
export type AbandonArgs = z.infer<typeof abandonArgs>;

/** Argument of the update `submitCredentials` on an onboarding or an update of credentials. */
export const submitCredentialsArgs = z.strictObject({
  credentialsRef: z.uuid().describe('vault reference of the portal user name and password'),
  by: by.describe('who gives the consent to submit them'),
});

/** The first detail of the ApplicationFailure with which an update of a filing fails. */
export const refusalDetails = z.object({
  code: z
    .string()
    .describe(
      'refused, reference_taken: do not repeat the update; run_ending: repeat it; second_person: recorded, a second person has to say the same',
    ),
  errors: z.array(finding),
  holder: z.string().nullable().optional().describe('reference_taken: id of the filing that has the reference'),
  state: z.string().nullable().optional().describe('reference_taken: the state of that filing'),
});
