/** Limits wrong tokens by the address that sends them, because each costs a look into the ledger. */
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { tooManyRequests } from '../http/problem';

export type AddressLimit = ReturnType<typeof createAddressLimit>;

const WITHIN_MS = 10_000;

/** @param most wrong tokens of one address within ten seconds */
export function createAddressLimit(api: FastifyInstance, most: number) {
  const limit = api.createRateLimit({
    max: most,
    timeWindow: WITHIN_MS,
    keyGenerator: ({ ip }) => normalizeIP(ip),
  });

  return {
    /** @throws Problem 429 */
    async assertFew(request: FastifyRequest): Promise<void> {
      const found = await limit(request, { increment: false });
      if (!found.isAllowed && found.isExceeded) {
        throw tooManyRequests('Too many wrong tokens came from this address. Try again later.', found.ttl);
      }
    },
    async count(request: FastifyRequest): Promise<void> {
      await limit(request);
    },
  };
}
