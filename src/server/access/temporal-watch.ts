import type { Client } from '@temporalio/client';
import { unavailable } from '../http/problem';

/** What is known of the server is taken for this long. */
const KNOWN_MS = 1_000;
const WITHIN_MS = 2_000;

/**
 * Tells within two seconds that Temporal is away: its client tries a server that does not answer for much longer. One
 * question at a time, for all requests together.
 */
export interface TemporalWatch {
  /** @throws Problem 503 */
  present(): Promise<void>;
}

export function createTemporalWatch({ connection }: Client): TemporalWatch {
  let seenAt = -Infinity;
  let asking: Promise<void> | undefined;

  function ask(): Promise<void> {
    asking ??= connection
      .withDeadline(Date.now() + WITHIN_MS, () => connection.workflowService.getSystemInfo({}))
      .then(() => void (seenAt = performance.now()))
      .finally(() => (asking = undefined));
    return asking;
  }

  return {
    async present() {
      if (performance.now() - seenAt < KNOWN_MS) return;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('Temporal does not answer')), WITHIN_MS);
      });
      try {
        await Promise.race([ask(), late]);
      } catch (cause) {
        const detail = 'Temporal cannot be reached right now. Repeat the request: nothing is filed twice.';
        throw unavailable('temporal_unavailable', detail, { cause });
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
