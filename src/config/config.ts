import { hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import * as hints from './hints';
import { isOpenHttp, openDatabaseLink, openTemporalLink, weakEncryptionKey } from './links';
import { createReader, type ConfigProblem, type Environment, type Reader } from './reader';
import type * as values from './values';
import { VARIABLES } from './variables';
import { modeOfKey, type Mode } from '../domain/names';
import { isS3 } from '../documents/s3-location';
import type { EncryptionKey } from '../keys/sub-keys';

export type { ConfigProblem, Environment } from './reader';
export { VARIABLES } from './variables';

/** The one place that reads the environment. Names, meanings and defaults of the variables are in `.env.example`. */

/** Both `src` and `dist` lie in the package's root. */
const PACKAGED_SCHEDULES = join(__dirname, '..', '..', 'schedules.yaml');

export interface Config {
  /** Without a slash at the end. */
  apiUrl: string;
  apiKey: string;
  mode: Mode;
  /** Absent: extraction is not configured. */
  extraction?: { url: string; key: string; version: string };
  /** Absolute path of the file that maps extracted data to our fields; absent: the built-in names. */
  extractionMapping?: string;
  databaseUrl: string;
  temporal: {
    /** `host:port`. */
    address: string;
    namespace: string;
    connectionOptions: ClientConnectConfig['connectionOptions'] & { address: string };
  };
  /** The keys that payloads are encrypted with, the current one first; empty where EBRC_ENCRYPTION_KEY is not set. */
  payloadKeys: readonly EncryptionKey[];
  codecServer: { token?: string; origins: readonly string[] };
  /** Where metrics and health are served; absent: not at all. */
  observability: { metrics?: values.ListenAddress; health?: values.ListenAddress };
  /** Root of the receiver that traces are sent to, without a slash at the end; absent: there are none. */
  tracesEndpoint?: string;
  /** The worker deployment version; absent: workers have no version. `buildId` is needed by workers alone. */
  deployment?: { name: string; buildId?: string };
  taskQueue: string;
  /** Workflows that the worker keeps in memory; the others are replayed when something happens to them. */
  cachedWorkflows: number;
  /** The current key first. */
  encryptionKeys: readonly [EncryptionKey, ...EncryptionKey[]];
  /** Absolute path of the folder, or `s3://bucket/prefix?…`. */
  documents: string;
  /** Absolute path of the file with the schedules. */
  schedules: string;
  /** Root of the Temporal UI, without a slash at the end; absent: reports have no links. */
  temporalUi?: string;
  poll: { firstMs: number; minMs: number; maxMs: number };
  overdueAfterMs: number;
  settleAfterMs: number;
  httpTimeoutMs: number;
  rateWindowMs: number;
  logLevel: (typeof values.LOG_LEVELS)[number];
  /** What works but should be known; to be logged at start. */
  warnings: string[];
}

/** The parts that a command can ask for, and what each holds. */
const SECTIONS = {
  api: ['apiUrl', 'apiKey', 'mode', 'httpTimeoutMs', 'rateWindowMs'],
  tuning: ['httpTimeoutMs', 'rateWindowMs'],
  mode: ['mode'],
  extraction: ['extraction', 'extractionMapping'],
  database: ['databaseUrl'],
  temporal: ['temporal', 'taskQueue', 'payloadKeys'],
  payloads: ['payloadKeys'],
  codecServer: ['codecServer'],
  encryption: ['encryptionKeys'],
  documents: ['documents'],
  schedules: ['schedules'],
  reports: ['temporalUi'],
  filing: ['poll', 'overdueAfterMs', 'settleAfterMs'],
  observability: ['observability'],
  traces: ['tracesEndpoint'],
  deployment: ['deployment'],
  memory: ['cachedWorkflows'],
  log: ['logLevel'],
} as const satisfies Record<string, readonly (keyof Config)[]>;

export type Section = keyof typeof SECTIONS;

export type ConfigOf<S extends Section> = Pick<Config, (typeof SECTIONS)[S][number] | 'warnings'>;

/** Every wrong or missing variable at once; whoever starts a program prints it and exits 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly ConfigProblem[]) {
    super(
      `The configuration cannot be used:\n${problems.map((each) => `  ${each.variable} ${each.problem}`).join('\n')}`,
    );
  }
}

/**
 * Reads the configuration, or the named sections of it: a command that needs no API key is not refused for want of one.
 * An empty value counts as unset. Throws `ConfigError` with every problem of those sections.
 */
export function loadConfig(env?: Environment): Config;
export function loadConfig<S extends Section>(
  env: Environment | undefined,
  options: { need: readonly S[] },
): ConfigOf<S>;
export function loadConfig(env: Environment = process.env, options?: { need: readonly Section[] }): Partial<Config> {
  const needed = new Set<Section>(options?.need ?? (Object.keys(SECTIONS) as Section[]));
  const read = createReader(env);
  const config: Partial<Config> & { warnings: string[] } = { warnings: [] };
  if (needed.has('api')) Object.assign(config, readApi(read, config.warnings));
  if (needed.has('tuning')) Object.assign(config, readTuning(read));
  if (needed.has('mode')) Object.assign(config, readMode(read));
  if (needed.has('extraction')) Object.assign(config, readExtraction(read));
  if (needed.has('database')) Object.assign(config, readDatabase(env, read));
  if (needed.has('temporal'))
    Object.assign(config, { temporal: readTemporal(env, read), taskQueue: read.required('EBRC_TASK_QUEUE') });
  if (needed.has('temporal') || needed.has('payloads')) Object.assign(config, { payloadKeys: readPayloadKeys(read) });
  if (needed.has('codecServer')) {
    const origins = read.optional('EBRC_CODEC_ORIGINS') ?? [];
    Object.assign(config, { codecServer: { token: read.optional('EBRC_CODEC_TOKEN'), origins } });
  }
  if (needed.has('encryption')) Object.assign(config, readEncryption(read, config.warnings));
  if (needed.has('documents')) Object.assign(config, { documents: readDocuments(env, read) });
  if (needed.has('schedules'))
    Object.assign(config, { schedules: read.optional('EBRC_SCHEDULES') ?? PACKAGED_SCHEDULES });
  if (needed.has('reports')) Object.assign(config, { temporalUi: read.optional('EBRC_TEMPORAL_UI') });
  if (needed.has('filing')) Object.assign(config, readFiling(read));
  if (needed.has('observability')) Object.assign(config, { observability: readObservability(read) });
  if (needed.has('traces')) Object.assign(config, { tracesEndpoint: read.optional('OTEL_EXPORTER_OTLP_ENDPOINT') });
  if (needed.has('deployment')) Object.assign(config, readDeployment(read, { whole: options === undefined }));
  if (needed.has('memory')) Object.assign(config, { cachedWorkflows: read.required('EBRC_CACHED_WORKFLOWS') });
  if (needed.has('log')) Object.assign(config, { logLevel: read.required('LOG_LEVEL') });
  if (read.problems().length > 0) throw new ConfigError(read.problems());
  return config;
}

/** The mode that the key has, or that stands in the place of a key for commands that only read. */
function modeOf(read: Reader): Mode | undefined {
  const key = read.optional('EBRC_API_KEY');
  const said = read.optional('EBRC_MODE');
  const ofKey = key === undefined ? undefined : (modeOfKey(key) ?? undefined);
  if (ofKey && said && ofKey !== said) {
    read.report('EBRC_MODE', `is ${said}, but EBRC_API_KEY is a key of ${ofKey} mode; allowed: unset, or ${ofKey}`);
  }
  return ofKey ?? said;
}

function readMode(read: Reader) {
  if (!read.isSet('EBRC_MODE')) read.required('EBRC_API_KEY', hints.MODE_HINT);
  return { mode: modeOf(read) };
}

function readApi(read: Reader, warnings: string[]) {
  const apiUrl = read.required('EBRC_API_URL', hints.API_URL_HINT);
  const apiKey = read.required('EBRC_API_KEY', hints.API_KEY_HINT);
  const mode = modeOf(read);
  if (apiUrl !== undefined && isOpenHttp(apiUrl)) {
    if (mode === 'live')
      read.report('EBRC_API_URL', 'would send a prod_ key over an unencrypted connection; allowed: an https address');
    else warnings.push('EBRC_API_URL is an http address of another machine: the dev_ key travels unencrypted.');
  }
  return { apiUrl, apiKey, mode, ...readTuning(read) };
}

/** Whether live data is meant; asked by what needs no key itself but must not let its data out. */
const isLive = (read: Reader) => modeOf(read) === 'live';

function readDatabase(env: Environment, read: Reader) {
  const databaseUrl = read.required('DATABASE_URL', hints.DATABASE_HINT);
  const problem = databaseUrl !== undefined && isLive(read) ? openDatabaseLink(databaseUrl, env) : null;
  if (problem) read.report('DATABASE_URL', problem);
  refuseUncheckedTls(env, read);
  return { databaseUrl };
}

/** With it no certificate is checked, whatever the addresses say. */
function refuseUncheckedTls(env: Environment, read: Reader): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || !isLive(read)) return;
  const problem = 'is 0, so that no certificate is checked, and a prod_ key is set; allowed: unset';
  read.report('NODE_TLS_REJECT_UNAUTHORIZED', problem);
}

function readTuning(read: Reader) {
  return { httpTimeoutMs: read.required('EBRC_HTTP_TIMEOUT'), rateWindowMs: read.required('EBRC_RATE_WINDOW') };
}

function readExtraction(read: Reader) {
  const extractionMapping = read.optional('EBRC_EXTRACTION_MAPPING');
  if (!read.isSet('EBRC_EXTRACTION_URL') && !read.isSet('EBRC_EXTRACTION_KEY')) return { extractionMapping };
  const url = read.required('EBRC_EXTRACTION_URL', hints.EXTRACTION_HINT);
  const key = read.required('EBRC_EXTRACTION_KEY', hints.EXTRACTION_HINT);
  if (url !== undefined && isOpenHttp(url) && isLive(read)) {
    const problem = 'would send documents and a key over an unencrypted connection; allowed with a prod_ key: https';
    read.report('EBRC_EXTRACTION_URL', problem);
  }
  return { extraction: { url, key, version: read.required('EBRC_EXTRACTION_VERSION') }, extractionMapping };
}

/**
 * Of an object store the AWS SDK reads credentials, region and endpoint itself; here only what it has no variable for.
 */
function readDocuments(env: Environment, read: Reader): string | undefined {
  const documents = read.required('EBRC_DOCUMENTS');
  const endpoint = env['AWS_ENDPOINT_URL_S3']?.trim() || env['AWS_ENDPOINT_URL']?.trim();
  if (documents === undefined || !isS3(documents) || !endpoint) return documents;
  if (!URL.canParse(endpoint)) {
    read.report('AWS_ENDPOINT_URL_S3', 'is not a web address; allowed: https://HOST:PORT');
    return undefined;
  }
  if (isLive(read) && isOpenHttp(endpoint)) {
    const problem = 'would send documents over an unencrypted connection; allowed with a prod_ key: an https address';
    read.report('AWS_ENDPOINT_URL_S3', problem);
  }
  // Servers other than Amazon's seldom have a name for each bucket.
  const url = new URL(documents);
  if (!url.searchParams.has('path-style')) url.searchParams.set('path-style', 'true');
  return url.href;
}

/** The variables, files and profiles are the ones of every Temporal program: `@temporalio/envconfig` reads them. */
function readTemporal(env: Environment, read: Reader) {
  const set = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1])));
  try {
    const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({ overrideEnvVars: set });
    const address = connectionOptions.address ?? '127.0.0.1:7233';
    if (!/^(\[[0-9a-f:]+\]|[^\s:/]+):\d{1,5}$/i.test(address)) {
      read.report('TEMPORAL_ADDRESS', `"${address}" is not an address; allowed: host:port, such as 127.0.0.1:7233`);
    }
    const tls = set['TEMPORAL_TLS'];
    // What Temporal's reader does not know it takes for false: the connection would be open for all to read.
    if (tls !== undefined && !/^(true|false|1|0)$/.test(tls)) {
      read.report('TEMPORAL_TLS', `"${tls}" is neither yes nor no; allowed: true, false, 1 or 0`);
    }
    const open = isLive(read) ? openTemporalLink({ address, tls: Boolean(connectionOptions.tls) }) : null;
    if (open) read.report('TEMPORAL_ADDRESS', open);
    refuseUncheckedTls(env, read);
    return { address, namespace, connectionOptions: { ...connectionOptions, address } };
  } catch (error) {
    const variable = set['TEMPORAL_PROFILE'] ? 'TEMPORAL_PROFILE' : 'TEMPORAL_…';
    const why = error instanceof Error ? error.message : String(error);
    read.report(variable, `cannot be used (${why}); allowed: what Temporal's environment configuration knows`);
    return undefined;
  }
}

/**
 * Payloads are encrypted whenever a key is given, and always with a prod_ key: workflow inputs and results name
 * exporters and amounts.
 */
function readPayloadKeys(read: Reader): readonly EncryptionKey[] {
  if (read.isSet('EBRC_ENCRYPTION_KEY')) return read.optional('EBRC_ENCRYPTION_KEY') ?? [];
  if (modeOf(read) === 'live') read.report('EBRC_ENCRYPTION_KEY', hints.MISSING_LIVE_KEY);
  return [];
}

/**
 * A live key needs a key of its own: losing the API key must not open the vault. A dev_ key may go without; the key is
 * then derived from the API key, so that command line and worker agree wherever they run and the vault is never in
 * clear.
 */
function readEncryption(read: Reader, warnings: string[]) {
  if (read.isSet('EBRC_ENCRYPTION_KEY')) {
    const encryptionKeys = read.optional('EBRC_ENCRYPTION_KEY');
    const weak = encryptionKeys && isLive(read) ? weakEncryptionKey(encryptionKeys) : null;
    if (weak) read.report('EBRC_ENCRYPTION_KEY', weak);
    return { encryptionKeys };
  }
  const apiKey = read.required('EBRC_API_KEY', hints.ENCRYPTION_HINT);
  if (apiKey === undefined) return {};
  if (modeOf(read) === 'live') {
    read.report('EBRC_ENCRYPTION_KEY', hints.MISSING_LIVE_KEY);
    return {};
  }
  const key = Buffer.from(hkdfSync('sha256', apiKey, '', 'ebrc-worker development encryption key', 32));
  warnings.push(
    'EBRC_ENCRYPTION_KEY is not set: the encryption key is derived from the dev_ key. Set one before real data goes in.',
  );
  return { encryptionKeys: [{ id: 'derived-from-dev-key', key }] };
}

function readFiling(read: Reader) {
  const firstMs = read.required('EBRC_POLL_FIRST');
  const minMs = read.required('EBRC_POLL_MIN');
  const maxMs = read.required('EBRC_POLL_MAX');
  if (minMs !== undefined && maxMs !== undefined && minMs > maxMs) {
    read.report('EBRC_POLL_MIN', 'is longer than EBRC_POLL_MAX; allowed: at most EBRC_POLL_MAX');
  }
  const overdueAfterMs = read.required('EBRC_OVERDUE_AFTER');
  return { poll: { firstMs, minMs, maxMs }, overdueAfterMs, settleAfterMs: read.required('EBRC_SETTLE_AFTER') };
}

/** Both or neither for a worker, which reads the whole configuration; the command line may name another version. */
function readDeployment(read: Reader, { whole }: { whole: boolean }) {
  const name = read.optional('EBRC_DEPLOYMENT');
  const buildId = read.optional('EBRC_BUILD_ID');
  if (whole && (name === undefined) !== (buildId === undefined)) {
    const missing = name === undefined ? 'EBRC_DEPLOYMENT' : 'EBRC_BUILD_ID';
    read.report(missing, hints.DEPLOYMENT_HINT);
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

/** The database that the environment names, where it names one. @throws ConfigError where it cannot be used */
export function databaseOfEnvironment(env: Environment = process.env): string | undefined {
  return env['DATABASE_URL']?.trim() ? loadConfig(env, { need: ['database'] }).databaseUrl : undefined;
}

/**
 * The environment for a program that this one starts: its own without any variable of this project, of Temporal, of
 * PostgreSQL or of OpenTelemetry, then `variables`. The demo must not file with a key that happens to be set in the
 * terminal it is tried in.
 */
export function environmentFor(
  variables: Record<string, string>,
  env: Environment = process.env,
): Record<string, string | undefined> {
  const foreign = Object.entries(env).filter(
    ([name]) => !(name in VARIABLES) && !/^(EBRC_|TEMPORAL_|OTEL_|PG[A-Z]+$)/.test(name),
  );
  return { ...Object.fromEntries(foreign), ...variables };
}
