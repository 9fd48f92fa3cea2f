import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { Sandbox } from '../src/sandbox/sandbox';
import type { TcpProxy } from '../test/support/tcp-proxy';
import type { Crew } from './crew';
import { meddle } from './operators';
import type { PlannedFiling } from './plan';
import {
  crashPostgres,
  endConnections,
  failOver,
  readOnlyForAWhile,
  restoreLedger,
  silenceForAWhile,
  withSubmissionsInLine,
} from './postgres-troubles';
import { between, type Random } from './random';
import { readStandings } from './watch';

/** What is done to the run while it goes on, beside the faults of the sandbox. */
export const TROUBLES = {
  kill: 'kill workers at random (kill -9), and let submissions take long enough to be met by it',
  database: 'end connections, crash PostgreSQL, stop workers (SIGTERM) at random',
  network: 'resets, 502s, silence and refused connections of the service at random',
  'read-only': 'PostgreSQL ends all sessions and takes no writes for 40 s',
  silent: 'the network to PostgreSQL swallows every packet for 35 s, and a worker is told to stop meanwhile',
  failover: 'PostgreSQL crashes, is a standby for 15 s and is promoted, with every filing in line',
  operators: 'somebody resets, terminates and cancels workflows at random',
  restore: 'the ledger alone is put back to how it was 15 s ago, and `ebrc ledger restored` given',
  'odd-texts': 'NUL, halves of surrogates and a megabyte in texts of the service',
} as const;

export type TroubleKind = keyof typeof TROUBLES;

export interface Troubles {
  /** How often each was made. */
  counts: Record<string, number>;
  /** Ends them; resolves when the last one is over. */
  stop(): Promise<void>;
}

interface Trouble {
  name: string;
  /** Seconds before each of them. */
  every: readonly [from: number, to: number];
  /** Made once alone. */
  once?: boolean;
  /** @returns under which name it counts, null for none; nothing: under its own */
  make: () => Promise<string | null | void>;
}

export interface TroubleOptions {
  kinds: ReadonlySet<TroubleKind>;
  crew: Crew;
  pool: pg.Pool;
  apiKey: string;
  /** Straight to PostgreSQL. */
  databaseUrl: string;
  /** Gives a command of `ebrc`; rejects unless it is done. */
  command: (args: readonly string[]) => Promise<void>;
  proxy: TcpProxy;
  sandbox: Sandbox;
  temporal: Client;
  filings: readonly PlannedFiling[];
  random: Random;
  /** No new trouble after this, so that a run comes to an end. */
  forMs: number;
  say: (message: string) => void;
}

export function makeTroubles(options: TroubleOptions): Troubles {
  const { kinds, random, forMs, say } = options;
  const troubles = (Object.keys(TROUBLES) as TroubleKind[])
    .filter((kind) => kinds.has(kind))
    .flatMap((kind) => troublesOf(kind, options));
  const stop = new AbortController();
  const counts: Record<string, number> = {};
  const until = Date.now() + forMs;
  const loops = troubles.map(async ({ name, every: [from, to], once, make }) => {
    do {
      const pause = between(random, from * 1_000, to * 1_000);
      const paused = await sleep(pause, true, { signal: stop.signal }).catch(() => false);
      if (!paused || Date.now() > until) return;
      try {
        if (once) say(`${name}: begins`);
        const made = (await make()) ?? name;
        counts[made] = (counts[made] ?? 0) + 1;
        if (once) say(`${name}: over`);
      } catch (error) {
        say(`${name}: did not come about (${error instanceof Error ? error.message : String(error)})`);
      }
    } while (!once);
  });
  return {
    counts,
    async stop() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}

function troublesOf(kind: TroubleKind, options: TroubleOptions): Trouble[] {
  const { crew, pool, databaseUrl, command, proxy, sandbox, temporal, filings, random } = options;
  const anyWorker = () => between(random, 0, crew.size - 1);
  switch (kind) {
    case 'kill':
      return [{ name: 'workers killed', every: [5, 12], make: () => crew.restart(anyWorker(), 'SIGKILL') }];
    case 'database':
      return [
        { name: 'workers stopped', every: [20, 35], make: () => crew.restart(anyWorker(), 'SIGTERM') },
        { name: 'connections ended', every: [6, 12], make: () => endConnections(pool) },
        { name: 'PostgreSQL crashes', every: [25, 40], make: () => crashPostgres(pool) },
      ];
    case 'network':
      return [{ name: 'connections refused', every: [10, 20], make: () => refuseForAWhile(sandbox) }];
    case 'read-only':
      return [{ name: 'PostgreSQL read-only', every: [3, 6], once: true, make: () => readOnlyForAWhile(pool) }];
    case 'silent':
      return [
        {
          name: 'PostgreSQL silent',
          every: [3, 6],
          once: true,
          make: () => silenceForAWhile(proxy, crew, anyWorker()),
        },
      ];
    case 'failover':
      return [{ name: 'failovers', every: [0, 0], once: true, make: () => failOverWithAllInLine(options) }];
    case 'operators':
      return [
        {
          name: 'operators',
          every: [0.3, 1.5],
          make: async () => {
            const act = await meddle(temporal, filings, random);
            return act === null ? 'workflows not there' : `workflows ${act}`;
          },
        },
      ];
    case 'restore':
      return [
        {
          name: 'ledgers restored',
          every: [4, 6],
          once: true,
          make: () => restoreLedger(databaseUrl, () => command(['ledger', 'restored'])),
        },
      ];
    case 'odd-texts':
      // Between workers and sandbox from the start: see the stage.
      return [];
  }
}

const IN_LINE_WITHIN_MS = 150_000;

async function failOverWithAllInLine({ pool, apiKey, filings, say }: TroubleOptions): Promise<void> {
  await withSubmissionsInLine(pool, apiKey, async () => {
    const deadline = Date.now() + IN_LINE_WITHIN_MS;
    let inLine = 0;
    while (inLine < filings.length && Date.now() < deadline) {
      await sleep(1_000);
      const standings = await readStandings(pool);
      inLine = standings.filter(({ state }) => state === 'submitting').length;
    }
    say(`failover with ${inLine} filings in line`);
    await failOver(pool);
  });
}

const REFUSED_MS = 700;

async function refuseForAWhile(sandbox: Sandbox): Promise<void> {
  await sandbox.refuseConnections(true);
  await sleep(REFUSED_MS);
  await sandbox.refuseConnections(false);
}
