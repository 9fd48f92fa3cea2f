/** What a principal answers for. */
import type { Role } from './principal';

/** The roles of which one is enough for an action that somebody answers for. */
export const MAY = {
  file: ['maker'],
  approve: ['checker'],
  resolve: ['checker'],
  abandon: ['maker', 'checker'],
  permit: ['checker'],
  policy: ['admin'],
} as const satisfies Record<string, readonly Role[]>;

export type GrantAction = keyof typeof MAY;

/** Said where a second person is asked for and somebody without a token answers. */
export const NEEDS_TOKEN =
  'a name alone is a claim, and here a second person is asked for: a principal has to do it, with its token (EBRC_TOKEN, or the HTTP API)';
