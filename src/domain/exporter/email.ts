import { z } from 'zod';

/** Longest address that mail systems carry. */
const MAX_LENGTH = 254;

/**
 * A plausible e-mail address. `r&d@firm.in`, `a/b@x.in` and international domains are accepted too; the service decides
 * which addresses it takes. Several addresses in one field are refused.
 */
export const emailAddress = z
  .string()
  .trim()
  .max(MAX_LENGTH)
  .regex(/^[^\s@"<>,;]+@[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)+$/u, 'is not an e-mail address');
