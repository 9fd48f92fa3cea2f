import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { createPool, type Queryable } from '../ledger/pool';
import { readSchemaState } from '../ledger/schema-state';
import { refuseSharedSessions } from '../ledger/diagnosis';
import { LedgerUnavailableError } from '../ledger/unavailable';
import { UnreachableError, UsageError } from './errors';
import type { Client, WorkflowClientInterceptor } from '@temporalio/client';
import type { Config } from '../config/config';
import type { DocumentStore } from '../documents/document-store';
import { readLedgerId } from '../ledger/time';

const RETRY_EVERY_MS = 500;

/** Error codes for which waiting does not help: missing rights, an unknown database, an unknown host. */
const PERMANENT_CODES = /^(28...|3D000|ENOTFOUND)$/;

export interface OpenOptions {
  /** How long to wait for a server that is restarting. */
  waitMs: number;
  /** Called once with the reason, when the wait begins. */
  onWait: (notice: string) => void;
  /** Maximum number of connections; default 4. */
  max?: number;
  /** Shown in `pg_stat_activity`; default `ebrc-cli`. */
  applicationName?: string;
}

/** Opens a pool on the ledger, and creates missing tables. @throws UnreachableError that names only the address */
export async function openLedger(databaseUrl: string, { waitMs, onWait, ...options }: OpenOptions): Promise<pg.Pool> {
  const until = Date.now() + waitMs;
  const address = addressOf(databaseUrl);
  for (let waiting = false; ; waiting = true) {
    try {
      return await openOnce(databaseUrl, options);
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error;
      if (PERMANENT_CODES.test(error.code) || Date.now() >= until) {
        throw new UnreachableError('PostgreSQL', address, error.cause);
      }
      if (!waiting) onWait(`PostgreSQL at ${address} cannot be used yet (${error.code}); trying again …`);
      await sleep(RETRY_EVERY_MS);
    }
  }
}

async function openOnce(
  databaseUrl: string,
  { applicationName = 'ebrc-cli', max = 4 }: Pick<OpenOptions, 'applicationName' | 'max'>,
): Promise<pg.Pool> {
  const pool = createPool({ url: databaseUrl, applicationName, max });
  try {
    await refuseSharedSessions(pool).catch((error: Error) => {
      throw error instanceof LedgerUnavailableError ? error : new UsageError(error.message, 'configuration');
    });
    // The migrations table is visible before its migrations are committed, so a worker may be applying them right now.
    const { applied } = await readSchemaState(pool);
    if (applied.length === 0) await (await import('../ledger/migrate.js')).migrate(pool);
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}

function addressOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `${hostname}:${port || '5432'}${pathname}`;
}

const CONNECT_WITHIN_MS = 8_000;

/** @throws UnreachableError that names the address */
export async function connectTemporal(
  {
    temporal: { address, namespace, connectionOptions },
    payloadKeys,
    payloads,
  }: Pick<Config, 'temporal' | 'payloadKeys' | 'payloads'>,
  {
    withinMs = CONNECT_WITHIN_MS,
    interceptors = [],
  }: {
    withinMs?: number;
    /** Interceptors that send the trace with calls. */
    interceptors?: WorkflowClientInterceptor[];
  } = {},
): Promise<Client> {
  // Loaded here, because these modules take longer to load than most commands, which only read the ledger, take to run.
  const [temporal, { connect }, { dataConverterOf }] = await Promise.all([
    import('@temporalio/client'),
    import('../temporal/connect.js'),
    import('../encryption/payload-codec.js'),
  ]);
  try {
    const connection = await connect({ ...connectionOptions, connectTimeout: withinMs });
    return new temporal.Client({
      connection,
      namespace,
      dataConverter: dataConverterOf(payloadKeys, { plaintext: payloads === 'any' ? 'taken' : 'refused' }),
      interceptors: { workflow: interceptors },
    });
  } catch (error) {
    throw new UnreachableError('Temporal', `${address} (namespace ${namespace})`, error);
  }
}

/** Compares the store's owner with the ledger; creates nothing. @returns a message if it is another's, else null */
export async function otherStore(
  db: Queryable,
  store: Pick<DocumentStore, 'owner'>,
  root: string,
): Promise<string | null> {
  const found = await store.owner();
  if (found === null || found === (await readLedgerId(db))) return null;
  const place = root.split('?', 1)[0];
  return `The documents in ${place} are another ledger's (${found}). Set EBRC_DOCUMENTS to the store that the worker uses; its log names it.`;
}
