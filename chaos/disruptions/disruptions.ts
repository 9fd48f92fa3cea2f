import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../sandbox/sandbox';
import type { Workers } from '../workers';
import { disturbLink, LINK_NAMES } from './links';
import { disturbWorkflow } from './operators';
import type { PlannedFiling } from '../plan';
import {
  crashPostgres,
  endConnections,
  failOver,
  makeReadOnly,
  restoreLedger,
  dropPackets,
  withSubmissionsQueued,
} from './postgres';
import { between, seededRandom, type Random } from '../random';
import { deployWrongBuilds, fillDisk, FIRST_VERSION, loseTemporal, restartTemporal, upgrade } from './servers';
import type { Stage } from '../stage';
import { readStandings } from '../watch';

/** What is done to servers, networks and workers during a run, besides the faults that the sandbox injects. */
export const DISRUPTIONS = {
  kill: 'kill workers at random (kill -9), and slow submissions down, so that some are interrupted',
  database: 'end connections, crash PostgreSQL, stop workers (SIGTERM) at random',
  network: 'resets, 502s, hangs and refused connections of the service at random',
  'read-only': 'PostgreSQL ends all sessions and takes no writes for 40 s',
  silent: 'the network to PostgreSQL drops every packet for 35 s, and a worker is told to stop meanwhile',
  failover: 'PostgreSQL crashes, is a standby for 15 s and is promoted, while every filing waits to be sent',
  operators: 'workflows are reset, terminated and cancelled at random',
  restore: 'the ledger alone is restored to a copy of 15 s ago, then `ebrc ledger restored --since` that time',
  temporal: 'the Temporal server is killed or stopped and comes back at random',
  'temporal-lost': 'the Temporal server loses all histories; an empty one starts, then `ebrc resume --all`',
  links: 'the networks to PostgreSQL, Temporal and the service delay, drop and cut at random',
  'full-disk': 'the disk of the documents is full for seconds at random',
  versions: 'new builds take over under load, and the old workers stop one by one',
  'bad-deployment': 'builds that fail at every run, and that cannot replay any, take over; then the right one is back',
  'http-api': 'the filings come over HTTP, and its two processes are killed at random (kill -9)',
  clocks: 'the clock of every second worker is 5 s ahead',
  'odd-texts': 'NUL, halves of surrogates and a megabyte in texts of the service',
  webhooks: 'of five endpoints of webhooks one hangs, one cuts, one answers late, one with 503, and they come back',
} as const;

export type DisruptionKind = keyof typeof DISRUPTIONS;

export interface Disruptions {
  /** How often each was made, by name. */
  counts: Record<string, number>;
  /** Those that are made once and failed: what they try was not tried. */
  failed: string[];
  /** Starts no further one; resolves when the last one is over. */
  stop(): Promise<void>;
}

interface Disruption {
  name: string;
  /** Seconds to wait before each, drawn between these. */
  every: readonly [from: number, to: number];
  /** Made only once. */
  once?: boolean;
  /** @returns the name that it counts under; its own name where it returns none */
  make: () => Promise<string | void>;
}

export interface DisruptionOptions {
  kinds: ReadonlySet<DisruptionKind>;
  workers: Workers;
  /** The processes of the HTTP API, where the filings come over it. */
  httpApis: Workers | null;
  stage: Stage;
  filings: readonly PlannedFiling[];
  /** Seed of the order of disruptions; each kind has a generator of its own. */
  seed: number;
  /** No new disruption starts after this time, so that the filings can recover. */
  forMs: number;
  say: (message: string) => void;
}

export function startDisruptions(options: DisruptionOptions): Disruptions {
  const { kinds, seed, forMs, say } = options;
  const disruptions = (Object.keys(DISRUPTIONS) as DisruptionKind[])
    .filter((kind) => kinds.has(kind))
    .flatMap((kind) => {
      const random = seededRandom(seed, kind);
      return disruptionsOf(kind, options, random).map((disruption) => ({
        ...disruption,
        random: seededRandom(seed, disruption.name),
      }));
    });
  const stop = new AbortController();
  const counts: Record<string, number> = {};
  const failed: string[] = [];
  const until = Date.now() + forMs;
  const loops = disruptions.map(async ({ name, every: [from, to], once, make, random }) => {
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
        const why = `${name}: failed (${error instanceof Error ? error.message : String(error)})`;
        say(why);
        if (once) failed.push(why);
      }
    } while (!once);
  });
  return {
    counts,
    failed,
    async stop() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}

function disruptionsOf(kind: DisruptionKind, options: DisruptionOptions, random: Random): Disruption[] {
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
      return [{ name: 'connections refused', every: [10, 20], make: () => refuseConnections(sandbox) }];
    case 'read-only':
      return [{ name: 'PostgreSQL read-only', every: [3, 6], once: true, make: () => makeReadOnly(pool) }];
    case 'silent':
      return [
        {
          name: 'PostgreSQL silent',
          every: [3, 6],
          once: true,
          make: () => dropPackets(links.postgres, workers, anyWorker()),
        },
      ];
    case 'failover':
      return [{ name: 'failovers', every: [0, 0], once: true, make: () => failOverWithAllQueued(options) }];
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
          make: () => restoreLedger(databaseUrl, (at) => command(['ledger', 'restored', '--since', at.toISOString()])),
        },
      ];
    case 'temporal':
      return [{ name: 'Temporal restarts', every: [5, 12], make: () => restartTemporal(stage, random) }];
    case 'temporal-lost':
      return [{ name: 'Temporal lost', every: [8, 12], once: true, make: () => loseTemporal(stage) }];
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
    case 'bad-deployment': {
      const make = () => deployWrongBuilds(workers, stage, options.say);
      return [{ name: 'bad deployments', every: [12, 14], once: true, make }];
    }
    case 'http-api': {
      const { httpApis } = options;
      if (!httpApis) return [];
      const kill = () =>
        httpApis.restart(between(random, 0, httpApis.size - 1), 'SIGKILL', between(random, 0, AWAY_MS));
      return [{ name: 'HTTP APIs killed', every: [0.5, 1.5], make: kill }];
    }
    case 'clocks':
    case 'odd-texts':
    case 'webhooks':
      // Set up when the servers and workers start: stage.ts and scenario.ts.
      return [];
  }
}

/** A killed worker is started again after up to this long, as by a supervisor. */
const AWAY_MS = 2_000;
const QUEUED_WITHIN_MS = 150_000;

async function failOverWithAllQueued({ stage, filings, say }: DisruptionOptions): Promise<void> {
  const { pool, apiKey } = stage;
  await withSubmissionsQueued(pool, apiKey, async () => {
    const deadline = Date.now() + QUEUED_WITHIN_MS;
    let queued = 0;
    while (queued < filings.length && Date.now() < deadline) {
      await sleep(1_000);
      const standings = await readStandings(pool);
      queued = standings.filter(({ state }) => state === 'submitting').length;
    }
    say(`failover while ${queued} filings wait to be sent`);
    await failOver(pool);
  });
}

const REFUSED_MS = 700;

async function refuseConnections(sandbox: Sandbox): Promise<void> {
  await sandbox.refuseConnections(true);
  await sleep(REFUSED_MS);
  await sandbox.refuseConnections(false);
}
