import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { FaultInput } from '../src/sandbox/fault-schema';
import type { Sandbox } from '../src/sandbox/sandbox';
import type { Crew } from './crew';
import { between, type Random } from './random';

/** What is done to the run while it goes on, beside the faults of the sandbox. */
export interface TroubleKinds {
  /** Workers killed at random. */
  kill: boolean;
  /** PostgreSQL's connections ended and PostgreSQL itself crashed at random, and workers told to stop. */
  database: boolean;
  /** Times at which the service refuses connections. */
  network: boolean;
}

export interface Troubles {
  /** How often each was made. */
  counts: Record<string, number>;
  /** Ends them; resolves when the last one is over. */
  stop(): Promise<void>;
}

/** The answer of every third submission is lost after it took effect. */
export const LOST_ANSWERS: readonly FaultInput[] = [
  { operation: 'push-irm', kind: 'accept-then-drop', every: 3 },
  { operation: 'bulk-upload', kind: 'accept-then-drop', every: 3 },
];

/**
 * Submissions that take a while, so that a worker's death meets some in the middle: after they took effect, and before, when they
 * still take effect although nobody waits for them any more.
 */
export const SLOW_SUBMISSIONS: readonly FaultInput[] = [
  { operation: 'push-irm', kind: 'slow', delayMs: 1_500, probability: 0.3, rngSeed: 31 },
  { operation: 'push-irm', kind: 'slow', delayMs: 1_500, wait: 'before', probability: 0.3, rngSeed: 32 },
];

/** Submissions that end in other ways that tell nothing, and reads that have to be made again. */
export const BAD_NETWORK: readonly FaultInput[] = [
  { operation: 'push-irm', kind: 'reset-before-accept', probability: 0.03, rngSeed: 11 },
  { operation: 'push-irm', kind: 'accept-then-reset', probability: 0.03, rngSeed: 12 },
  { operation: 'push-irm', kind: '502-with-code', probability: 0.03, rngSeed: 13 },
  { operation: 'push-irm', kind: '502-bare', process: true, probability: 0.03, rngSeed: 14 },
  { operation: 'push-irm', kind: 'hang', process: true, probability: 0.02, rngSeed: 15 },
  { operation: 'push-irm', kind: 'truncated-json', probability: 0.03, rngSeed: 16 },
  { operation: 'status', kind: '502-with-code', probability: 0.03, rngSeed: 17 },
  { operation: 'status', kind: 'accept-then-reset', probability: 0.03, rngSeed: 18 },
  { operation: 'fetch-details', kind: 'accept-then-drop', probability: 0.03, rngSeed: 19 },
  { operation: 'download-pdf', kind: 'truncated-pdf', probability: 0.02, rngSeed: 20 },
  { operation: 'download-pdf', kind: 'reset-before-accept', probability: 0.03, rngSeed: 21 },
];

interface Trouble {
  name: string;
  /** Seconds between two of them. */
  every: [from: number, to: number];
  make: () => Promise<void>;
}

export function makeTroubles(options: {
  kinds: TroubleKinds;
  crew: Crew;
  pool: pg.Pool;
  sandbox: Sandbox;
  random: Random;
  /** No new trouble after this, so that a run comes to an end. */
  forMs: number;
  say: (message: string) => void;
}): Troubles {
  const { kinds, crew, pool, sandbox, random, forMs, say } = options;
  const anyWorker = () => between(random, 0, crew.size - 1);
  const troubles: Trouble[] = [
    ...(kinds.kill
      ? [{ name: 'workers killed', every: [5, 12] as const, make: () => crew.restart(anyWorker(), 'SIGKILL') }]
      : []),
    ...(kinds.database
      ? [
          { name: 'workers stopped', every: [20, 35] as const, make: () => crew.restart(anyWorker(), 'SIGTERM') },
          { name: 'connections ended', every: [6, 12] as const, make: () => endConnections(pool) },
          { name: 'PostgreSQL crashes', every: [25, 40] as const, make: () => crashPostgres(pool) },
        ]
      : []),
    ...(kinds.network
      ? [{ name: 'connections refused', every: [10, 20] as const, make: () => refuseForAWhile(sandbox) }]
      : []),
  ].map((trouble) => ({ ...trouble, every: [...trouble.every] as [number, number] }));

  const stop = new AbortController();
  const counts: Record<string, number> = Object.fromEntries(troubles.map(({ name }) => [name, 0]));
  const until = Date.now() + forMs;
  const loops = troubles.map(async ({ name, every: [from, to], make }) => {
    for (;;) {
      const paused = await sleep(between(random, from * 1_000, to * 1_000), true, { signal: stop.signal }).catch(
        () => false,
      );
      if (!paused || Date.now() > until) return;
      try {
        await make();
        counts[name] = (counts[name] ?? 0) + 1;
      } catch (error) {
        say(`${name}: did not come about (${error instanceof Error ? error.message : String(error)})`);
      }
    }
  });
  return {
    counts,
    async stop() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}

/** Ends every connection but the one that says so, idle or in mid-statement. */
async function endConnections(pool: pg.Pool): Promise<void> {
  await pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
}

/**
 * Kills one of PostgreSQL's processes: it takes that for a crash, throws every connection out, and starts again from its log on the
 * same port.
 */
async function crashPostgres(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() LIMIT 1',
  );
  if (rows[0]) process.kill(rows[0].pid, 'SIGKILL');
}

const REFUSED_MS = 700;

async function refuseForAWhile(sandbox: Sandbox): Promise<void> {
  await sandbox.refuseConnections(true);
  await sleep(REFUSED_MS);
  await sandbox.refuseConnections(false);
}
