import { z } from 'zod';

/** Longest address that mail systems carry. */
const MAX_LENGTH = 254;

/**
 * An e-mail address, as far as it can be told from something else: `r&d@firm.in`, `a/b@x.in` and international domains
 * are addresses too, and which of them the service takes is its to say. Several addresses in one field are none.
 */
export const emailAddress = z
  .string()
  .trim()
  .max(MAX_LENGTH)
  .regex(/^[^\s@"<>,;]+@[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)+$/u, 'is not an e-mail address');
