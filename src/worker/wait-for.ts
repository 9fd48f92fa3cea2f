import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** How long to wait at start for a server that is not up yet. */
export const START_WITHIN_MS = 120_000;
const PAUSE_MS = 2_000;

/** Repeats `connect` until it succeeds or `passes` is false. @throws Error after {@link START_WITHIN_MS} */
export async function waitFor<T>(
  what: { name: string; address: string; hint: string },
  connect: () => Promise<T>,
  logger: Logger,
  {
    patienceMs = START_WITHIN_MS,
    passes = () => true,
  }: { patienceMs?: number; passes?: (error: unknown) => boolean } = {},
): Promise<T> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (!passes(error)) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      if (Date.now() >= until) {
        throw new Error(
          `${what.name} at ${what.address} did not answer within ${Math.round(patienceMs / 1000)} s (${reason}). ${what.hint}`,
          { cause: error },
        );
      }
      logger.warn({ what: what.name, address: what.address, reason }, 'waiting for a server');
      await sleep(PAUSE_MS);
    }
  }
}
