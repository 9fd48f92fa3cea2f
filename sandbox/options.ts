import type { Seed } from './authority/seed';

export interface SandboxOptions {
  /** 0, the default, takes a free one, as does a port that is in use. */
  port?: number;
  host?: string;
  /** From credential validation to `ready`, on the sandbox clock. Default 24 h. */
  activationDelayMs?: number;
  /** From acceptance of a filing to its processing, on the sandbox clock. Default 2 h. */
  ackDelayMs?: number;
  /** From processing to the certificate being in fetch-details, on the sandbox clock. Default 0. */
  detailsDelayMs?: number;
  /** From processing to the certificate being downloadable, on the sandbox clock. Default 0. */
  pdfDelayMs?: number;
  /** Whether rate limits and the credential fuse are enforced. Default true. */
  rateLimits?: boolean;
  /** Length of the sliding rate window in real time. Default 60 s. */
  rateWindowMs?: number;
  /** Ms since 1970 for all dates and delays; rate limits keep real time. Default: the machine's clock. */
  clock?: () => number | Promise<number>;
  /** Data and faults, as an object or the path of a JSON file. The default seed supplies what it leaves out. */
  seed?: Seed | string;
  /** File in which the state is kept from one start to the next. Left out: every start begins with the initial data. */
  stateFile?: string;
}

export type Settings = Required<Omit<SandboxOptions, 'seed' | 'stateFile'>>;

/** The specification's own delays and limits. */
const DEFAULTS: Settings = {
  port: 0,
  host: '127.0.0.1',
  activationDelayMs: 24 * 3_600_000,
  ackDelayMs: 2 * 3_600_000,
  detailsDelayMs: 0,
  pdfDelayMs: 0,
  rateLimits: true,
  rateWindowMs: 60_000,
  clock: Date.now,
};

export function settingsOf(asked: SandboxOptions): Settings {
  const { seed: _seed, stateFile: _file, ...options } = asked;
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...(Object.fromEntries(given) as Partial<Settings>) };
}
