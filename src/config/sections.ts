/** Readers of related settings: servers, keys and the mode of the API key. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { isS3 } from '../documents/s3-location';
import type { Environment, Reader } from './reader';
import { hkdfSync } from 'node:crypto';
import { subKeys, type EncryptionKey } from '../encryption/keys';
import { modeOfKey, type Mode } from '../domain/names';
import { parse } from 'pg-connection-string';
import { isLoopbackHost } from './listen-address';

const API_KEY_MISSING = 'is missing; allowed: a key of the filing service, which starts with dev_ or prod_';
const LIVE_KEY_MISSING =
  'is missing, and a prod_ key does not start without it; allowed: keyId:base64-of-32-bytes (`openssl rand -base64 32` makes one)';

export function readDatabase(env: Environment, read: Reader) {
  const databaseUrl = read.required('DATABASE_URL', 'is missing; allowed: postgres://USER:PASSWORD@HOST:PORT/DATABASE');
  const problem = databaseUrl !== undefined && isLive(read) ? openDatabaseLink(databaseUrl, env) : null;
  if (problem) read.report('DATABASE_URL', problem);
  refuseUncheckedTls(env, read);
  return { databaseUrl };
}

/** Refuses NODE_TLS_REJECT_UNAUTHORIZED=0 with live data, because Node then checks no certificate. */
function refuseUncheckedTls(env: Environment, read: Reader): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || !isLive(read)) return;
  const problem = 'is 0, so that no certificate is checked, and a prod_ key is set; allowed: unset';
  read.report('NODE_TLS_REJECT_UNAUTHORIZED', problem);
}

/** Refuses an http address on the network for live data. */
function refuseOpenHttp(read: Reader, variable: string, url: string | undefined, what: string): void {
  if (url === undefined || !isLive(read) || !isOpenHttp(url)) return;
  const allowed = 'allowed with a prod_ key: an https address';
  read.report(variable, `would send ${what} over an unencrypted connection; ${allowed}`);
}

/** Traces of live data need TLS, because spans name exporters, filings and requests. */
export function readTraces(read: Reader) {
  const tracesEndpoint = read.optional('OTEL_EXPORTER_OTLP_ENDPOINT');
  refuseOpenHttp(read, 'OTEL_EXPORTER_OTLP_ENDPOINT', tracesEndpoint, 'traces');
  return { tracesEndpoint };
}

/** Adds `path-style`, for which the AWS SDK has no variable. The SDK itself reads credentials, region and endpoint. */
export function readDocuments(env: Environment, read: Reader): string | undefined {
  const documents = read.required('EBRC_DOCUMENTS');
  const endpoint = env['AWS_ENDPOINT_URL_S3']?.trim() || env['AWS_ENDPOINT_URL']?.trim();
  if (documents === undefined || !isS3(documents) || !endpoint) return documents;
  if (!URL.canParse(endpoint)) {
    read.report('AWS_ENDPOINT_URL_S3', 'is not a web address; allowed: https://HOST:PORT');
    return undefined;
  }
  refuseOpenHttp(read, 'AWS_ENDPOINT_URL_S3', endpoint, 'documents');
  // Only Amazon has a host name for each bucket, as a rule.
  const url = new URL(documents);
  if (!url.searchParams.has('path-style')) url.searchParams.set('path-style', 'true');
  return url.href;
}

/** Reads the standard variables, files and profiles of Temporal programs with `@temporalio/envconfig`. */
export function readTemporal(env: Environment, read: Reader) {
  const set = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1])));
  const apiKey = read.optional('TEMPORAL_API_KEY');
  if (apiKey !== undefined) set['TEMPORAL_API_KEY'] = apiKey;
  try {
    const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({ overrideEnvVars: set });
    const address = connectionOptions.address ?? '127.0.0.1:7233';
    if (!/^(\[[0-9a-f:]+\]|[^\s:/]+):\d{1,5}$/i.test(address)) {
      read.report('TEMPORAL_ADDRESS', `"${address}" is not an address; allowed: host:port, such as 127.0.0.1:7233`);
    }
    const tls = set['TEMPORAL_TLS'];
    // envconfig treats unknown values as false, and the connection would not be encrypted.
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
 * The payload keys: EBRC_PAYLOAD_KEY, which opens no password, then those derived from EBRC_ENCRYPTION_KEY. With both,
 * the derived ones only decrypt. Without either payloads are not encrypted, which a prod_ key does not allow.
 */
export function readPayloadKeys(read: Reader): readonly EncryptionKey[] {
  const configured = keysOf(read, 'EBRC_PAYLOAD_KEY');
  const derived = keysOf(read, 'EBRC_ENCRYPTION_KEY');
  if (configured === null || derived === null) return [];
  if (configured.length + derived.length === 0) {
    const problem = `${LIVE_KEY_MISSING}; EBRC_PAYLOAD_KEY is enough for what opens no password`;
    if (isLive(read)) read.report('EBRC_ENCRYPTION_KEY', problem);
    return [];
  }
  const payloads = derived.length > 0 ? subKeys(derived, 'payloads') : [];
  const clash = payloads.find(({ id, key }) => configured.some((other) => other.id === id && !other.key.equals(key)));
  if (clash) {
    const problem = `has a key "${clash.id}" that is not the one derived from EBRC_ENCRYPTION_KEY; allowed: an id of its own, or what \`ebrc keys payload\` prints`;
    read.report('EBRC_PAYLOAD_KEY', problem);
  }
  return [...configured, ...payloads.filter(({ id }) => configured.every((other) => other.id !== id))];
}

/** The payload keys, and whether payloads must be encrypted: by default with live data. */
export function readPayloads(read: Reader) {
  const payloadKeys = readPayloadKeys(read);
  const asked = read.optional('EBRC_PAYLOADS');
  if (asked === 'encrypted' && payloadKeys.length === 0) {
    read.report(
      'EBRC_PAYLOADS',
      'is encrypted, and there is no key; allowed: with EBRC_PAYLOAD_KEY or EBRC_ENCRYPTION_KEY',
    );
  }
  return { payloadKeys, payloads: asked ?? (isLive(read) ? ('encrypted' as const) : ('any' as const)) };
}

/** The keys of a variable; empty if it is unset, null if they are invalid. */
function keysOf(read: Reader, variable: 'EBRC_PAYLOAD_KEY' | 'EBRC_ENCRYPTION_KEY'): readonly EncryptionKey[] | null {
  if (!read.isSet(variable)) return [];
  const keys = read.optional(variable);
  if (keys === undefined) return null;
  // Check also without a mode, because the codec server may only have the key.
  const weak = modeOf(read) === 'test' ? null : weakEncryptionKey(keys);
  if (weak) read.report(variable, weak);
  return keys;
}

/** A prod_ key needs an encryption key, because a leaked API key must not open the vault. A dev_ key derives one. */
export function readEncryption(read: Reader, warnings: string[]) {
  if (read.isSet('EBRC_ENCRYPTION_KEY')) {
    return { encryptionKeys: keysOf(read, 'EBRC_ENCRYPTION_KEY') ?? undefined };
  }
  const or = 'or EBRC_ENCRYPTION_KEY, which is derived from it where it is not set';
  const apiKey = read.required('EBRC_API_KEY', `${API_KEY_MISSING}; ${or}`);
  if (apiKey === undefined) return {};
  if (isLive(read)) {
    read.report('EBRC_ENCRYPTION_KEY', LIVE_KEY_MISSING);
    return {};
  }
  const key = Buffer.from(hkdfSync('sha256', apiKey, '', 'ebrc-worker development encryption key', 32));
  warnings.push(
    'EBRC_ENCRYPTION_KEY is not set: the encryption key is derived from the dev_ key. Set one before real data goes in.',
  );
  return { encryptionKeys: [{ id: 'derived-from-dev-key', key }] };
}

/** The mode of the API key, or EBRC_MODE for commands that only read. */
function modeOf(read: Reader): Mode | undefined {
  const key = read.optional('EBRC_API_KEY');
  const configured = read.optional('EBRC_MODE');
  const ofKey = key === undefined ? undefined : (modeOfKey(key) ?? undefined);
  if (ofKey && configured && ofKey !== configured) {
    read.report(
      'EBRC_MODE',
      `is ${configured}, but EBRC_API_KEY is a key of ${ofKey} mode; allowed: unset, or ${ofKey}`,
    );
  }
  return ofKey ?? configured;
}

/** Whether live data is used. Settings that need no key themselves must protect it. */
const isLive = (read: Reader) => modeOf(read) === 'live';

export function readMode(read: Reader) {
  const or = 'EBRC_MODE (test or live) is enough for commands that only read';
  if (!read.isSet('EBRC_MODE')) read.required('EBRC_API_KEY', `${API_KEY_MISSING}; ${or}`);
  return { mode: modeOf(read) };
}

export function readApi(read: Reader, warnings: string[]) {
  const urlMissing = 'is missing; allowed: the root of the filing service, ending in /api/v1';
  const apiUrl = read.required('EBRC_API_URL', urlMissing);
  const apiKey = read.required('EBRC_API_KEY', API_KEY_MISSING);
  const mode = modeOf(read);
  if (apiUrl !== undefined && isOpenHttp(apiUrl)) {
    if (mode === 'live')
      read.report('EBRC_API_URL', 'would send a prod_ key over an unencrypted connection; allowed: an https address');
    else warnings.push('EBRC_API_URL is an http address of another machine: the dev_ key travels unencrypted.');
  }
  return { apiUrl, apiKey, mode, ...readTuning(read) };
}

export function readTuning(read: Reader) {
  return { httpTimeoutMs: read.required('EBRC_HTTP_TIMEOUT'), rateWindowMs: read.required('EBRC_RATE_WINDOW') };
}

/** An identity provider (OpenID Connect), and where it sends people back to. */
export interface ProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The claim with the roles. */
  roleClaim: string;
  /** Where people open the pages, without a trailing slash. */
  pagesUrl: string;
}

export function readProvider(read: Reader) {
  const issuer = read.optional('EBRC_OIDC_ISSUER');
  if (!read.isSet('EBRC_OIDC_ISSUER')) return {};
  const missing = (what: string) => `is missing, but EBRC_OIDC_ISSUER is set; allowed: ${what}`;
  const provider = {
    issuer,
    clientId: read.required('EBRC_OIDC_CLIENT_ID', missing('what the identity provider calls this service')),
    clientSecret: read.required('EBRC_OIDC_CLIENT_SECRET', missing('what the identity provider gave for this service')),
    roleClaim: read.required('EBRC_OIDC_ROLE_CLAIM'),
    pagesUrl: read.required('EBRC_PAGES_URL', missing('the address at which people open the pages, https://HOST')),
  };
  return { provider };
}

export function readExtraction(read: Reader) {
  const extractionMapping = read.optional('EBRC_EXTRACTION_MAPPING');
  if (!read.isSet('EBRC_EXTRACTION_URL') && !read.isSet('EBRC_EXTRACTION_KEY')) return { extractionMapping };
  const missing =
    'is missing, but the other of EBRC_EXTRACTION_URL and EBRC_EXTRACTION_KEY is set; allowed: both or neither';
  const url = read.required('EBRC_EXTRACTION_URL', missing);
  const key = read.required('EBRC_EXTRACTION_KEY', missing);
  refuseOpenHttp(read, 'EBRC_EXTRACTION_URL', url, 'documents and a key');
  return { extraction: { url, key, version: read.required('EBRC_EXTRACTION_VERSION') }, extractionMapping };
}

// Checks of connections and keys for a `prod_` key. Each returns the problem without secrets, or null.

/** Whether `url` leads over a network without TLS. */
function isOpenHttp(url: string): boolean {
  return url.startsWith('http:') && !isLoopbackHost(new URL(url).hostname);
}

/** Refuses a connection to PostgreSQL that somebody on the network could read, or answer in its place. */
function openDatabaseLink(databaseUrl: string, env: Environment): string | null {
  // Use the driver's own parser, so that the same value counts if a parameter is given twice.
  const link = parse(withoutFiles(databaseUrl)) as ReturnType<typeof parse> & { sslmode?: string };
  const host = link.host || env['PGHOST'] || 'localhost';
  // An absolute path is the folder of a Unix socket.
  if (host.startsWith('/') || isLoopbackHost(host)) return null;
  const asked = link.ssl === true ? 'verify-full' : link.ssl === false ? 'disable' : env['PGSSLMODE'];
  const mode = link.sslmode ?? asked ?? 'none';
  // The driver treats `require` as `verify-full` today; its next major version will check no certificate for it.
  if (mode === 'verify-full') return null;
  return (
    `reaches another machine with sslmode ${mode}, and a prod_ key is set: others could read or change the ledger's data; ` +
    'allowed: ?sslmode=verify-full at its end (with &sslrootcert=FILE for an authority of your own), or a PostgreSQL on this machine'
  );
}

/** Removes the certificate files from a connection string, because the parser would read them. */
function withoutFiles(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  for (const name of ['sslcert', 'sslkey', 'sslrootcert']) url.searchParams.delete(name);
  return url.href;
}

/** Refuses an unencrypted connection to Temporal over a network. */
function openTemporalLink({ address, tls }: { address: string; tls: boolean }): string | null {
  if (tls || isLoopbackHost(address.replace(/:\d+$/, ''))) return null;
  return (
    `"${address}" is another machine and TLS is off, but a prod_ key is set; allowed: TEMPORAL_TLS=true ` +
    '(or a certificate, an API key or a profile that has it), or a server on this machine'
  );
}

/** Not one of a million random keys has so few different bytes (32 random bytes have 30 on average). */
const MIN_DISTINCT_BYTES = 20;

/** Refuses a key that was typed or counted instead of random, or one under two ids. */
function weakEncryptionKey(keys: readonly EncryptionKey[]): string | null {
  const how = 'allowed: keys of random bytes, each of its own (`openssl rand -base64 32` makes one)';
  for (const [nth, { id, key }] of keys.entries()) {
    if (isTrivial(key)) return `has a key "${id}" that can be guessed; ${how}`;
    const same = keys.slice(0, nth).find((other) => other.key.equals(key));
    if (same) return `has the same key under the ids "${same.id}" and "${id}"; ${how}`;
  }
  return null;
}

function isTrivial(key: Buffer): boolean {
  if (new Set(key).size < MIN_DISTINCT_BYTES) return true;
  // Sequences such as 00 01 02 …, with a constant step between bytes.
  const steps = [...key.subarray(1)].map((byte, nth) => (byte - (key[nth] ?? 0) + 256) % 256);
  return new Set(steps).size <= 2 || [...key].every((byte) => byte >= 0x20 && byte < 0x7f);
}
