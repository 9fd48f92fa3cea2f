import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptProcess } from '../dev/kept-process';
import { startProgram } from '../dev/program';

const WORKER = join(__dirname, '..', 'dist', 'worker.js');
/** A killed worker stays away for up to this long, as it would until its supervisor noticed. */
const AWAY_MS = 2_000;

/** The worker processes of a run. Each ends with this process, however that ends. */
export interface Crew {
  /** Kills (`SIGKILL`) or stops (`SIGTERM`) one worker and starts it again; resolves when it runs again. */
  restart(nth: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  size: number;
  /**
   * Workers that ended by themselves (they were started again), and those that did not stop in order when they were
   * told to.
   */
  problems: readonly string[];
  stop(): Promise<void>;
}

interface Member {
  process: KeptProcess;
  /** Its end has been asked for. */
  asked: boolean;
  /** Where its part of the log begins. */
  logFrom: number;
}

export async function startCrew(options: {
  size: number;
  env: Record<string, string | undefined>;
  folder: string;
  /** What a worker runs; default the built one. */
  program?: string;
}): Promise<Crew> {
  const { size, env, folder, program = WORKER } = options;
  await access(program).catch(() => {
    throw new Error('The workers are not built. Run: npm run build');
  });
  const logOf = (nth: number) => join(folder, `worker-${nth + 1}.log`);
  const readLog = (nth: number) => readFile(logOf(nth), 'utf8').catch(() => '');
  const members: Member[] = [];
  const busy = new Set<number>();
  const problems: string[] = [];
  let over = false;

  async function start(nth: number): Promise<void> {
    const logFrom = (await readLog(nth)).length;
    const started = await startProgram({
      name: `Worker ${nth + 1}`,
      command: process.execPath,
      args: [program],
      log: logOf(nth),
      env,
      stopWithinMs: 60_000,
    });
    const member = { process: started, asked: false, logFrom };
    members[nth] = member;
    void started.exited.then(() => replaceUnasked(nth, member));
  }

  /** As a supervisor would; the run fails for it all the same. */
  async function replaceUnasked(nth: number, member: Member): Promise<void> {
    if (member.asked || over) return;
    member.asked = true;
    const last = (await readLog(nth)).slice(member.logFrom).trimEnd().split('\n').at(-1) ?? '';
    problems.push(`worker ${nth + 1} ended by itself: ${last.slice(0, 400)}`);
    busy.add(nth);
    await start(nth).finally(() => busy.delete(nth));
  }

  async function end(nth: number, member: Member, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    member.asked = true;
    // The worker itself, not what keeps it.
    process.kill(Number(member.process.firstLine), signal);
    await member.process.exited;
    if (signal === 'SIGKILL') return;
    const said = (await readLog(nth)).slice(member.logFrom);
    // One that had not taken up work yet ends at once, and says nothing.
    if (said.includes('"worker started"') && !said.includes('"worker stopped"')) {
      problems.push(`worker ${nth + 1} did not stop in order`);
    }
  }

  await Promise.all(Array.from({ length: size }, (_unused, nth) => start(nth)));
  return {
    size,
    problems,
    async restart(nth, signal) {
      const member = members[nth];
      if (!member || member.asked || busy.has(nth) || over) return;
      busy.add(nth);
      try {
        await end(nth, member, signal);
        if (signal === 'SIGKILL') await sleep(Math.random() * AWAY_MS);
        await start(nth);
      } finally {
        busy.delete(nth);
      }
    },
    async stop() {
      while (busy.size > 0) await sleep(100);
      over = true;
      await Promise.all(members.map((member) => member.process.stop()));
    },
  };
}
