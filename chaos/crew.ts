import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptProcess } from '../src/stack/kept-process';
import { startProgram } from '../src/stack/program';

const WORKER = join(__dirname, '..', 'dist', 'worker.js');
/** A killed worker stays away for up to this long, as it would until its supervisor noticed. */
const AWAY_MS = 2_000;

/** The worker processes of a run. Each ends with this process, however that ends. */
export interface Crew {
  /** Kills (`SIGKILL`) or stops (`SIGTERM`) one worker and starts it again; resolves when it runs again. */
  restart(nth: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  size: number;
  stop(): Promise<void>;
}

export async function startCrew(options: {
  size: number;
  env: Record<string, string | undefined>;
  folder: string;
}): Promise<Crew> {
  const { size, env, folder } = options;
  await access(WORKER).catch(() => {
    throw new Error('The workers are not built. Run: npm run build');
  });
  const start = (nth: number) =>
    startProgram({
      name: `Worker ${nth + 1}`,
      command: process.execPath,
      args: [WORKER],
      log: join(folder, `worker-${nth + 1}.log`),
      env,
      stopWithinMs: 60_000,
    });
  const members = await Promise.all(Array.from({ length: size }, (_unused, nth) => start(nth)));
  const busy = new Set<number>();
  let over = false;

  return {
    size,
    async restart(nth, signal) {
      const member = members[nth];
      if (!member || busy.has(nth) || over) return;
      busy.add(nth);
      try {
        await end(member, signal);
        if (signal === 'SIGKILL') await sleep(Math.random() * AWAY_MS);
        members[nth] = await start(nth);
      } finally {
        busy.delete(nth);
      }
    },
    async stop() {
      over = true;
      while (busy.size > 0) await sleep(100);
      await Promise.all(members.map((member) => member.stop()));
    },
  };
}

/** Signals the worker itself, not what keeps it. */
async function end(member: KeptProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  try {
    process.kill(Number(member.firstLine), signal);
  } catch (error) {
    // It ended by itself: its keeper has told the log, and it is started again all the same.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  await member.exited;
}
