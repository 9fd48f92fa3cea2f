import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../src/sandbox/sandbox';
import type { Workers } from './workers';
import { disturbLink, LINK_NAMES } from './links';
import { disturbWorkflow } from './operators';
import type { PlannedFiling } from './plan';
import {
  crashPostgres,
  endConnections,
  failOver,
  readOnlyForAWhile,
  restoreLedger,
  restoreTogether,
  silenceForAWhile,
  withSubmissionsInLine,
} from './postgres-troubles';
import { between, seededRandom, type Random } from './random';
import { fillDisk, FIRST_VERSION, restartTemporal, upgrade } from './server-troubles';
import type { Stage } from './stage';
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
  'restore-both': 'ledger and documents are put back together, and `ebrc ledger restored --documents restored` given',
  temporal: 'the Temporal server is killed or stopped and comes back at random',
  links: 'the networks to PostgreSQL, Temporal and the service delay, swallow and cut at random',
  'full-disk': 'the disk of the documents takes nothing more for seconds at random',
  versions: 'new builds take over under load, and the old workers stop one by one',
  clocks: 'the clock of every second worker is 5 s ahead',
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
  workers: Workers;
  stage: Stage;
  filings: readonly PlannedFiling[];
  /** Of the order of troubles: each kind has its own, whatever the others take. */
  seed: number;
  /** No new trouble after this, so that a run comes to an end. */
  forMs: number;
  say: (message: string) => void;
}

export function makeTroubles(options: TroubleOptions): Troubles {
  const { kinds, seed, forMs, say } = options;
  const troubles = (Object.keys(TROUBLES) as TroubleKind[])
    .filter((kind) => kinds.has(kind))
    .flatMap((kind) => {
      const random = seededRandom(seed, kind);
      return troublesOf(kind, options, random).map((trouble) => ({
        ...trouble,
        random: seededRandom(seed, trouble.name),
      }));
    });
  const stop = new AbortController();
  const counts: Record<string, number> = {};
  const until = Date.now() + forMs;
  const loops = troubles.map(async ({ name, every: [from, to], once, make, random }) => {
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

function troublesOf(kind: TroubleKind, options: TroubleOptions, random: Random): Trouble[] {
  const { workers, stage, filings } = options;
  const { pool, databaseUrl, command, links, sandbox, temporal } = stage;
  const anyWorker = () => between(random, 0, workers.size - 1);
  switch (kind) {
    case 'kill':
      return [
        {
          name: 'workers killed',
          every: [5, 12],
          make: () => workers.restart(anyWorker(), 'SIGKILL', between(random, 0, AWAY_MS)),
        },
      ];
    case 'database':
      return [
        { name: 'workers stopped', every: [20, 35], make: () => workers.restart(anyWorker(), 'SIGTERM') },
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
          make: () => silenceForAWhile(links.postgres, workers, anyWorker()),
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
            const act = await disturbWorkflow(temporal, filings, random);
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
    case 'restore-both':
      return [
        {
          name: 'ledgers and documents restored',
          every: [4, 6],
          once: true,
          make: () =>
            restoreTogether({ ...stage, workers }, () => command(['ledger', 'restored', '--documents', 'restored'])),
        },
      ];
    case 'temporal':
      return [{ name: 'Temporal restarts', every: [5, 12], make: () => restartTemporal(stage, random) }];
    case 'links':
      return LINK_NAMES.map((name) => ({
        name: `links to ${name}`,
        every: [3, 9],
        make: () => disturbLink(links[name], random),
      }));
    case 'full-disk': {
      const { disk } = stage;
      return disk ? [{ name: 'disks filled', every: [3, 8], make: () => fillDisk(disk, random) }] : [];
    }
    case 'versions': {
      let version = FIRST_VERSION;
      return [{ name: 'upgrades', every: [6, 12], make: () => upgrade(workers, stage, (version += 1)) }];
    }
    case 'clocks':
    case 'odd-texts':
      // From the start: see the stage and the scenario.
      return [];
  }
}

/** A killed worker stays away for up to this long, as it would until its supervisor noticed. */
const AWAY_MS = 2_000;
const IN_LINE_WITHIN_MS = 150_000;

async function failOverWithAllInLine({ stage, filings, say }: TroubleOptions): Promise<void> {
  const { pool, apiKey } = stage;
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
