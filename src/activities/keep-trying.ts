import { setTimeout as sleep } from 'node:timers/promises';

const INITIAL_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;

/**
 * Repeats a write for as long as the process lives, with growing pauses. For the few writes that must not be lost while
 * PostgreSQL restarts; the pauses keep no process alive that wants to end.
 */
export async function keepTrying(write: () => Promise<void>, onFailure: (error: unknown) => void): Promise<void> {
  for (let pause = INITIAL_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      await write();
      return;
    } catch (error) {
      onFailure(error);
      await sleep(pause, undefined, { ref: false });
    }
  }
}
