import { problem, tooManyRequests } from './problem';
import { keySchema, type ApiKey } from '../authority/seed';
import type { Mode, World } from '../authority/world';
import type { FaultedOperation } from '../faults/fault-schema';

/** Who calls: the key, and the mode that its prefix sets (spec: "Environments"). */
export interface Caller {
  key: ApiKey;
  mode: Mode;
}

/** The caller by `x-api-key` (spec: "Authentication"). @throws Problem 401 for no, an unknown or a revoked key */
export function authenticate(world: World, header: string | string[] | undefined): Caller {
  const presented = presentedKey(header);
  const key = world.keys.find((candidate) => candidate.key === presented && !candidate.revoked);
  if (!key) throw problem(401, 'Invalid API key');
  return { key, mode: key.key.startsWith('prod_') ? 'live' : 'test' };
}

function presentedKey(header: string | string[] | undefined): string {
  const presented = Array.isArray(header) ? header[0] : header;
  if (!presented) throw problem(401, 'No API key provided');
  return presented;
}

/** The same for the extraction service, which has keys of its own and no modes. */
export function authenticateExtraction(world: World, header: string | string[] | undefined): Caller {
  if (!world.extractionKeys.has(presentedKey(header))) throw problem(401, 'Invalid API key');
  return { key: keySchema.parse({ key: 'prod_extraction', platformId: 'extraction' }), mode: 'live' };
}

/** Whether the key may be used; creating a customer takes the platform agreement. @throws Problem 403 */
export function authorize({ key }: Caller, operation: string): void {
  if (key.kind !== 'platform') throw problem(403, 'Only platform users can access this resource');
  if (!key.ndaSigned) throw problem(403, 'NDA and agreement not signed yet');
  if (operation === 'create-customer' && !key.masterAgreementSigned) {
    throw problem(403, 'Master Platform Agreement not signed yet');
  }
}

/** Calls in a window for the operations with a limit of their own (spec: "Limits"). */
const OWN_LIMITS: Partial<Record<FaultedOperation, number>> = {
  'check-dgft-credentials': 4,
  'bulk-upload': 5,
  'download-pdf': 5,
  'refresh-irms': 6,
  'push-irm': 10,
  'fetch-details': 10,
  'bulk-template': 10,
};
const OTHER_ENDPOINTS = { rateClass: 'other', limit: 100 };

export interface RateLimiter {
  /** Counts a call of `who` (a key, or an address when unauthenticated). @throws Problem 429 when there is no room */
  admit(operation: FaultedOperation, who: string): void;
  /** How many calls were refused, by class. */
  refused(): Record<string, number>;
}

/** Sliding windows in real time per caller and class. Refused calls do not count against their caller. */
export function createRateLimiter(options: { enabled: boolean; windowMs: number; now?: () => number }): RateLimiter {
  const now = options.now ?? (() => performance.now());
  const admitted = new Map<string, number[]>();
  const refused: Record<string, number> = {};
  return {
    admit(operation, who) {
      if (!options.enabled) return;
      const own = OWN_LIMITS[operation];
      const { rateClass, limit } = own === undefined ? OTHER_ENDPOINTS : { rateClass: operation, limit: own };
      const window = `${rateClass} ${who}`;
      const at = now();
      const recent = (admitted.get(window) ?? []).filter((moment) => at - moment < options.windowMs);
      if (recent.length >= limit) {
        admitted.set(window, recent);
        refused[rateClass] = (refused[rateClass] ?? 0) + 1;
        throw tooManyRequests();
      }
      admitted.set(window, [...recent, at]);
    },
    refused: () => ({ ...refused }),
  };
}
