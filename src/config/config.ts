import { join } from 'node:path';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Mode } from '../domain/names';
import type { Quota } from '../domain/service/limits';
import type { EncryptionKey } from '../encryption/keys';
import type { ListenAddress } from './listen-address';
import {
  readEncryption,
  readPayloadKeys,
  readPayloads,
  readDatabase,
  readDocuments,
  readTemporal,
  readTraces,
  readApi,
  readExtraction,
  readProvider,
  type ProviderSettings,
  readMode,
  readTuning,
} from './sections';
import { createReader, type ConfigProblem, type Environment, type Reader } from './reader';
import type * as values from './values';

export type { ConfigProblem, Environment } from './reader';
export { VARIABLES } from './reader';

/** The only code that reads the environment. `.env.example` documents the variables. */

/** Relative to `src` or `dist`, which are both in the package's root. */
const PACKAGED_SCHEDULES = join(__dirname, '..', '..', 'schedules.yaml');

export interface Config {
  /** Without a trailing slash. */
  apiUrl: string;
  apiKey: string;
  mode: Mode;
  /** Absent if extraction is not configured. */
  extraction?: { url: string; key: string; version: string };
  /** Absolute path of the file that maps extracted data to our fields; absent: the built-in mapping. */
  extractionMapping?: string;
  databaseUrl: string;
  /** The most connections of a worker. */
  databasePool: number;
  temporal: {
    /** `host:port`. */
    address: string;
    namespace: string;
    connectionOptions: ClientConnectConfig['connectionOptions'] & { address: string };
  };
  /** The keys for payloads, the current one first; empty if payloads are not encrypted. */
  payloadKeys: readonly EncryptionKey[];
  /** Whether payloads that are not encrypted are taken too. */
  payloads: 'encrypted' | 'any';
  codecServer: { token?: string; origins: readonly string[] };
  /** A principal's token, for the command line; absent: `--by` names are claims. */
  token?: string;
  /** Where `ebrc serve` listens, and whether it serves pages there. */
  http: ListenAddress;
  pages: boolean;
  /** The identity provider at which people sign in to the pages; absent: with tokens alone. */
  provider?: ProviderSettings;
  /** Hosts that webhooks may be sent to although their addresses are private. */
  webhookHosts: readonly string[];
  /** Addresses that serve metrics and health; absent: not served. */
  observability: { metrics?: ListenAddress; health?: ListenAddress };
  /** Root of the receiver of traces, without a trailing slash; absent: no traces. */
  tracesEndpoint?: string;
  /** The worker deployment version; absent: workers have no version. Only workers need `buildId`. */
  deployment?: { name: string; buildId?: string };
  taskQueue: string;
  /** The number of workflows that a worker keeps in memory; others are replayed when needed. */
  cachedWorkflows: number;
  /** The current key first. */
  encryptionKeys: readonly [EncryptionKey, ...EncryptionKey[]];
  /** Absolute path of a folder, or `s3://bucket/prefix?…`. */
  documents: string;
  schedules: string;
  /** Root of the Temporal UI, without a trailing slash; absent: reports have no links. */
  temporalUi?: string;
  poll: { firstMs: number; minMs: number; maxMs: number };
  overdueAfterMs: number;
  settleAfterMs: number;
  /** How far back an exporter's certificates are read at first. */
  historyMs: number;
  /** How long after its date a certificate may be cancelled at the authority's portal. */
  cancelWithinMs: number;
  /** Certificates of a month and exporters that the service's contract includes. */
  quota: Quota;
  singlePerson: boolean;
  httpTimeoutMs: number;
  rateWindowMs: number;
  logLevel: (typeof values.LOG_LEVELS)[number];
  /** Warnings about valid but risky settings, to be logged at start. */
  warnings: string[];
}

/** Readers of the sections of the configuration; a command loads only the sections that it needs. */
const READERS = {
  api: ({ read, warnings }) => readApi(read, warnings),
  tuning: ({ read }) => readTuning(read),
  mode: ({ read }) => readMode(read),
  extraction: ({ read }) => readExtraction(read),
  database: ({ env, read }) => readDatabase(env, read),
  temporal: ({ env, read }) => ({
    temporal: readTemporal(env, read),
    taskQueue: read.required('EBRC_TASK_QUEUE'),
    ...readPayloads(read),
  }),
  payloads: ({ read }) => ({ payloadKeys: readPayloadKeys(read) }),
  codecServer: ({ read }) => ({
    codecServer: { token: read.optional('EBRC_CODEC_TOKEN'), origins: read.optional('EBRC_CODEC_ORIGINS') ?? [] },
  }),
  encryption: ({ read, warnings }) => readEncryption(read, warnings),
  documents: ({ env, read }) => ({ documents: readDocuments(env, read) }),
  schedules: ({ read }) => ({ schedules: read.optional('EBRC_SCHEDULES') ?? PACKAGED_SCHEDULES }),
  reports: ({ read }) => ({ temporalUi: read.optional('EBRC_TEMPORAL_UI') }),
  filing: ({ read }) => readFiling(read),
  quota: ({ read }) => readQuota(read),
  token: ({ read }) => ({ token: read.optional('EBRC_TOKEN') }),
  http: ({ read }) => ({ http: read.required('EBRC_HTTP'), pages: read.optional('EBRC_PAGES') ?? false }),
  // Workers have no pages, and not the secret.
  provider: ({ read, whole }) => (whole ? {} : readProvider(read)),
  webhooks: ({ read }) => ({ webhookHosts: read.optional('EBRC_WEBHOOK_HOSTS') ?? [] }),
  observability: ({ read }) => ({ observability: readObservability(read) }),
  traces: ({ read }) => readTraces(read),
  deployment: ({ read, whole }) => readDeployment(read, { whole }),
  memory: ({ read }) => ({
    cachedWorkflows: read.required('EBRC_CACHED_WORKFLOWS'),
    databasePool: read.required('DATABASE_POOL'),
  }),
  log: ({ read }) => ({ logLevel: read.required('LOG_LEVEL') }),
} satisfies Record<
  string,
  (source: {
    env: Environment;
    read: Reader;
    warnings: string[];
    /** Whether the whole configuration is read, as by a worker. */
    whole: boolean;
  }) => Partial<Record<keyof Config, unknown>>
>;

export type Section = keyof typeof READERS;

type KeysOf<Part> = Part extends unknown ? keyof Part : never;
export type ConfigOf<S extends Section> = Pick<
  Config,
  Extract<KeysOf<ReturnType<(typeof READERS)[S]>>, keyof Config> | 'warnings'
>;

/** All wrong and missing variables; the program prints them and exits with 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly ConfigProblem[]) {
    super(
      `The configuration cannot be used:\n${problems.map(({ variable, problem }) => `  ${variable} ${problem}`).join('\n')}`,
    );
  }
}

/** Reads the whole configuration, or the named sections. @throws ConfigError with all their problems */
export function loadConfig(env?: Environment): Config;
export function loadConfig<S extends Section>(
  env: Environment | undefined,
  options: { need: readonly S[] },
): ConfigOf<S>;
export function loadConfig(env: Environment = process.env, options?: { need: readonly Section[] }): Partial<Config> {
  const read = createReader(env);
  const config: Partial<Config> & { warnings: string[] } = { warnings: [] };
  const source = { env, read, warnings: config.warnings, whole: options === undefined };
  for (const section of options?.need ?? (Object.keys(READERS) as Section[])) {
    Object.assign(config, READERS[section](source));
  }
  if (read.problems().length > 0) throw new ConfigError(read.problems());
  return config;
}

function readFiling(read: Reader) {
  const firstMs = read.required('EBRC_POLL_FIRST');
  const minMs = read.required('EBRC_POLL_MIN');
  const maxMs = read.required('EBRC_POLL_MAX');
  if (minMs !== undefined && maxMs !== undefined && minMs > maxMs) {
    read.report('EBRC_POLL_MIN', 'is longer than EBRC_POLL_MAX; allowed: at most EBRC_POLL_MAX');
  }
  const overdueAfterMs = read.required('EBRC_OVERDUE_AFTER');
  const singlePerson = read.optional('EBRC_SINGLE_PERSON') ?? false;
  return {
    poll: { firstMs, minMs, maxMs },
    overdueAfterMs,
    settleAfterMs: read.required('EBRC_SETTLE_AFTER'),
    historyMs: read.required('EBRC_HISTORY'),
    cancelWithinMs: read.required('EBRC_CANCEL_WITHIN'),
    singlePerson,
  };
}

function readQuota(read: Reader) {
  const certificates = read.required('EBRC_QUOTA_CERTIFICATES');
  const exporters = read.required('EBRC_QUOTA_EXPORTERS');
  return certificates === undefined || exporters === undefined ? {} : { quota: { certificates, exporters } };
}

/** The settings by which filings live, in the form of the activities. */
export function filingSettings(config: ConfigOf<'filing' | 'tuning'>) {
  const { httpTimeoutMs, rateWindowMs, overdueAfterMs, settleAfterMs, historyMs, singlePerson, poll } = config;
  const { firstMs: pollFirstMs, minMs: pollMinMs, maxMs: pollMaxMs } = poll;
  return {
    ...{ httpTimeoutMs, rateWindowMs, overdueAfterMs, settleAfterMs, historyMs, singlePerson },
    ...{ pollFirstMs, pollMinMs, pollMaxMs },
  };
}

/** A worker, which reads the whole configuration, needs both variables or neither. */
function readDeployment(read: Reader, { whole }: { whole: boolean }) {
  const name = read.optional('EBRC_DEPLOYMENT');
  const buildId = read.optional('EBRC_BUILD_ID');
  if (whole && (name === undefined) !== (buildId === undefined)) {
    const missing = name === undefined ? 'EBRC_DEPLOYMENT' : 'EBRC_BUILD_ID';
    const problem = 'is missing, but the other of EBRC_DEPLOYMENT and EBRC_BUILD_ID is set; allowed: both or neither';
    read.report(missing, problem);
  }
  return name === undefined ? {} : { deployment: { name, buildId } };
}

function readObservability(read: Reader) {
  const metrics = read.optional('EBRC_METRICS');
  const health = read.optional('EBRC_HEALTH');
  if (metrics && health && metrics.port !== 0 && metrics.port === health.port) {
    read.report('EBRC_HEALTH', 'has the port of EBRC_METRICS; allowed: a port of its own');
  }
  return { metrics, health };
}
