import { tooManyRequests } from './problem';
import type { Operation } from '../faults/fault-schema';

/** Calls in a window for the operations with a limit of their own (spec: "Limits"). */
const OWN_LIMITS: Partial<Record<Operation, number>> = {
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
  /**
   * Counts a call of `who` (a key, or a client address when unauthenticated). @throws Problem 429 when there is no
   * room.
   */
  admit(operation: Operation, who: string): void;
  /** How many calls were refused, by class. */
  refused(): Record<string, number>;
}

/**
 * Sliding windows in real time, one for each caller and rate class. Only admitted calls count, so a caller that repeats
 * refused calls does not keep its own window full.
 */
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
