/** Argument and failure of the one update, for callers in any Temporal SDK. `schemas/` is generated from this file. */
import { z } from 'zod';
import { finding, text } from './contracts';
import { personKey } from './principal';

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
