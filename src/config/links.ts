/** What a `prod_` key requires of links and keys. Each check answers what is wrong, or null, without secrets. */
import { X509Certificate } from 'node:crypto';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { parse } from 'pg-connection-string';
import { isLoopbackHost } from './listen-address';
import type { Environment } from './reader';
import type { EncryptionKey } from '../encryption/keys';

/** Whether `url` is reached without TLS over a network. */
export function isOpenHttp(url: string): boolean {
  return url.startsWith('http:') && !isLoopbackHost(new URL(url).hostname);
}

/** A connection to PostgreSQL that somebody on the way could read, or answer in PostgreSQL's stead. */
export function openDatabaseLink(databaseUrl: string, env: Environment): string | null {
  // The driver's own parser decides which value counts where a parameter is given twice.
  const link = parse(withoutFiles(databaseUrl)) as ReturnType<typeof parse> & { sslmode?: string };
  const host = link.host || env['PGHOST'] || 'localhost';
  // A path is the folder of a Unix socket.
  if (host.startsWith('/') || isLoopbackHost(host)) return null;
  const asked = link.ssl === true ? 'verify-full' : link.ssl === false ? 'disable' : env['PGSSLMODE'];
  const mode = link.sslmode ?? asked ?? 'none';
  // The driver takes `require` for `verify-full` today; its next major version checks no certificate under it.
  if (mode === 'verify-full') return null;
  return (
    `reaches another machine with sslmode ${mode}, and a prod_ key is set: others could read or change the ledger's data; ` +
    'allowed: ?sslmode=verify-full at its end (with &sslrootcert=FILE for an authority of your own), or a PostgreSQL on this machine'
  );
}

/** A connection string without its certificate files, which the parser would read. */
function withoutFiles(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  for (const name of ['sslcert', 'sslkey', 'sslrootcert']) url.searchParams.delete(name);
  return url.href;
}

/** A connection to Temporal that is not encrypted. */
export function openTemporalLink({ address, tls }: { address: string; tls: boolean }): string | null {
  if (tls || isLoopbackHost(address.replace(/:\d+$/, ''))) return null;
  return (
    `"${address}" is another machine and TLS is off, but a prod_ key is set; allowed: TEMPORAL_TLS=true ` +
    '(or a certificate, an API key or a profile that has it), or a server on this machine'
  );
}

/** When the client certificate of a connection to Temporal ends; null where it has none, or none that can be read. */
export function clientCertificateEnds(tls: ClientConnectConfig['connectionOptions']['tls']): Date | null {
  const certificate = typeof tls === 'object' && tls ? tls.clientCertPair?.crt : undefined;
  try {
    return certificate ? new Date(new X509Certificate(certificate).validTo) : null;
  } catch {
    return null;
  }
}

/** Fewer different bytes than any of a million random keys has (32 random bytes have 30 on average). */
const MIN_DISTINCT_BYTES = 20;

/** A key that was typed or counted instead of drawn, or that stands under two ids. */
export function weakEncryptionKey(keys: readonly EncryptionKey[]): string | null {
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
  // 00 01 02 … and the like: every byte as far from the last as the one before.
  const steps = [...key.subarray(1)].map((byte, nth) => (byte - (key[nth] ?? 0) + 256) % 256);
  return new Set(steps).size <= 2 || [...key].every((byte) => byte >= 0x20 && byte < 0x7f);
}
