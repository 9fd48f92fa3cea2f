/** Settings of the servers that the worker uses: PostgreSQL, Temporal and the document store. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { isS3 } from '../documents/s3-location';
import * as hints from './hints';
import { isOpenHttp, openDatabaseLink, openTemporalLink } from './links';
import { isLive } from './read-service';
import type { Environment, Reader } from './reader';

export function readDatabase(env: Environment, read: Reader) {
  const databaseUrl = read.required('DATABASE_URL', hints.DATABASE_HINT);
  const problem = databaseUrl !== undefined && isLive(read) ? openDatabaseLink(databaseUrl, env) : null;
  if (problem) read.report('DATABASE_URL', problem);
  refuseUncheckedTls(env, read);
  return { databaseUrl };
}

/** With this variable no certificate is checked, regardless of the addresses. */
function refuseUncheckedTls(env: Environment, read: Reader): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || !isLive(read)) return;
  const problem = 'is 0, so that no certificate is checked, and a prod_ key is set; allowed: unset';
  read.report('NODE_TLS_REJECT_UNAUTHORIZED', problem);
}

/** Spans name exporters, filings and requests. */
export function readTraces(read: Reader) {
  const tracesEndpoint = read.optional('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (tracesEndpoint !== undefined && isLive(read) && isOpenHttp(tracesEndpoint)) {
    const problem = 'would send traces over an unencrypted connection; allowed with a prod_ key: an https address';
    read.report('OTEL_EXPORTER_OTLP_ENDPOINT', problem);
  }
  return { tracesEndpoint };
}

/** The same for every working directory: workers and command lines of one user must find the same store. */
export const DEFAULT_DOCUMENTS = join(homedir(), '.local', 'share', 'ebrc', 'documents');

/**
 * The AWS SDK itself reads the credentials, region and endpoint of an object store; this adds what it has no variable
 * for.
 */
export function readDocuments(env: Environment, read: Reader): string | undefined {
  const documents = read.isSet('EBRC_DOCUMENTS') ? read.optional('EBRC_DOCUMENTS') : DEFAULT_DOCUMENTS;
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
  // Servers other than Amazon's rarely have a host name for each bucket.
  const url = new URL(documents);
  if (!url.searchParams.has('path-style')) url.searchParams.set('path-style', 'true');
  return url.href;
}

/** Uses the standard variables, files and profiles of Temporal programs, as `@temporalio/envconfig` reads them. */
export function readTemporal(env: Environment, read: Reader) {
  const set = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1])));
  try {
    const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({ overrideEnvVars: set });
    const address = connectionOptions.address ?? '127.0.0.1:7233';
    if (!/^(\[[0-9a-f:]+\]|[^\s:/]+):\d{1,5}$/i.test(address)) {
      read.report('TEMPORAL_ADDRESS', `"${address}" is not an address; allowed: host:port, such as 127.0.0.1:7233`);
    }
    const tls = set['TEMPORAL_TLS'];
    // Temporal's reader treats unknown values as false: the connection would not be encrypted.
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
