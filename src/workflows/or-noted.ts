import { readFailure } from './failures';
import type { FilingRun } from './filing-run';

/**
 * Makes a call that a filing can go on without: what it fails with becomes a line of the filing's story, and null comes
 * back. What no activity said comes through, as do the ends of a filing that is given up or interrupted.
 */
export async function orNoted<T>(
  run: FilingRun,
  { kind, text }: { kind: string; text: string },
  call: () => Promise<T>,
): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    const failure = readFailure(error);
    if (failure.kind === null) throw error;
    await run.note({ kind, text: `${text}: ${failure.message}` });
    return null;
  }
}
