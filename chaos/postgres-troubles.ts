import { chown, cp, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { hashOfKey } from '../src/budget/budget';
import { createPool } from '../src/ledger/pool';
import type { TcpProxy } from '../test/support/tcp-proxy';
import type { Workers } from './workers';

const READ_ONLY_MS = 40_000;
/** Longer than any statement is waited for, so that every wait of the workers is seen to end. */
const SILENT_MS = 35_000;
/** From the loss of the old server to the promotion of the new one. */
const FAILOVER_MS = 15_000;
const TRY_AGAIN_MS = 300;
/** What happens in between is what the restored ledger does not know. */
const COPY_AGE_MS = 15_000;

/** Ends every connection but the one that runs this statement, idle or in the middle of a statement. */
export async function endConnections(pool: pg.Pool): Promise<void> {
  await pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
}

/**
 * Kills one of PostgreSQL's processes: it takes that for a crash, throws every connection out, and starts again from
 * its log on the same port.
 */
export async function crashPostgres(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() LIMIT 1',
  );
  if (rows[0]) process.kill(rows[0].pid, 'SIGKILL');
}

/** Every session is ended, and new ones can only read, as at a standby that a failover left behind. */
export async function readOnlyForAWhile(pool: pg.Pool): Promise<void> {
  await setReadOnly(pool, true);
  await sleep(READ_ONLY_MS);
  await setReadOnly(pool, false);
}

async function setReadOnly(pool: pg.Pool, on: boolean): Promise<void> {
  const setting = on ? 'SET default_transaction_read_only TO on' : 'RESET default_transaction_read_only';
  await untilDone(async () => {
    const { rows } = await pool.query<{ name: string }>('SELECT current_database() AS name');
    // This session may be a read-only one itself.
    await pool.query(`BEGIN READ WRITE; ALTER DATABASE ${rows[0]?.name ?? ''} ${setting}; COMMIT`);
  });
  // Those that were made while it was read-only stay so afterwards: the workers have to get rid of them.
  if (on) await untilDone(() => endConnections(pool));
}

/**
 * A failover: the server crashes, comes back as a standby that can only be read, and is promoted. It is a new timeline
 * then, as after the switch to a replica that had everything.
 */
export async function failOver(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ folder: string }>(
    "SELECT current_setting('data_directory') AS folder, pg_backend_pid() AS pid",
  );
  const folder = rows[0]?.folder ?? '';
  const signal = join(folder, 'standby.signal');
  const { uid, gid } = await stat(folder);
  await writeFile(signal, '');
  await chown(signal, uid, gid);
  await crashPostgres(pool);
  await sleep(FAILOVER_MS);
  await untilDone(() => pool.query('SELECT pg_promote()'));
}

/** The network between workers and PostgreSQL swallows every packet; one worker is told to stop meanwhile, and must. */
export async function silenceForAWhile(proxy: TcpProxy, workers: Workers, nth: number): Promise<void> {
  proxy.swallow(true);
  const restarted = workers.restart(nth, 'SIGTERM');
  await sleep(SILENT_MS);
  proxy.swallow(false);
  await restarted;
}

/**
 * Keeps every submission waiting for its slot, as a 429 does, while `work` goes on: they stand in line, with all reads
 * before the send done.
 */
export async function withSubmissionsInLine(pool: pg.Pool, apiKey: string, work: () => Promise<void>): Promise<void> {
  const close = (until: string) =>
    untilDone(() =>
      pool.query(
        `INSERT INTO budget_classes (key_hash, rate_class, closed_until)
         SELECT $1, c, ${until} FROM unnest('{push,bulk}'::text[]) AS c
         ON CONFLICT (key_hash, rate_class) DO UPDATE SET closed_until = excluded.closed_until`,
        [hashOfKey(apiKey)],
      ),
    );
  await close(`clock_timestamp() + interval '1 hour'`);
  await work().finally(() => close('NULL'));
}

/** What the name of a ledger ends with that another one was put in the place of. */
export const LOST = '_lost';

/** A copy of the ledger's database beside it, as a backup is. */
interface LedgerCopy {
  /** `meanwhile` is done while no client is connected. */
  take(meanwhile?: () => Promise<void>): Promise<void>;
  /** The ledger is as it was when the copy was taken; what it had become is kept under the name with {@link LOST}. */
  putBack(meanwhile?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

function copyOf(databaseUrl: string): LedgerCopy {
  const name = new URL(databaseUrl).pathname.slice(1);
  const admin = createPool({ url: Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href, max: 1 });
  const allow = (database: string, connections: boolean) =>
    admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS ${connections}`);
  const alone = async (statement: string, meanwhile: () => Promise<void> = () => Promise.resolve()) => {
    await allow(name, false);
    await untilDone(async () => {
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      await admin.query(statement);
    });
    await meanwhile();
    await allow(name, true);
  };
  return {
    take: (meanwhile) => alone(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`, meanwhile),
    async putBack(meanwhile) {
      const [is, copy, lost] = [name, `${name}_copy`, `${name}${LOST}`];
      // The two in one transaction, so that they can be tried again.
      await allow(copy, false);
      await alone(`ALTER DATABASE ${is} RENAME TO ${lost}; ALTER DATABASE ${copy} RENAME TO ${is}`, meanwhile);
      await allow(lost, true);
    },
    close: () => admin.end(),
  };
}

/**
 * The ledger alone is put back to how it was a while ago, as from a backup; documents and Temporal stay. `onRestored`
 * is what its operator does then.
 */
export async function restoreLedger(databaseUrl: string, onRestored: () => Promise<void>): Promise<void> {
  const copy = copyOf(databaseUrl);
  try {
    await copy.take();
    await sleep(COPY_AGE_MS);
    await copy.putBack();
  } finally {
    await copy.close();
  }
  await onRestored();
}

/**
 * Ledger and documents are put back together, as with a snapshot of a whole machine, while no worker runs; `onRestored`
 * comes before they start again. Temporal stays.
 */
export async function restoreTogether(
  { databaseUrl, documentsRoot, workers }: { databaseUrl: string; documentsRoot: string; workers: Workers },
  onRestored: () => Promise<void>,
): Promise<void> {
  const copy = copyOf(databaseUrl);
  const documents = `${documentsRoot}-copy`;
  try {
    // What is being written has a name of its own, which may be gone a moment later.
    const filter = (name: string) => !basename(name).startsWith('.incoming-');
    await copy.take(() => cp(documentsRoot, documents, { recursive: true, filter }));
    await sleep(COPY_AGE_MS);
    await workers.away(async () => {
      await copy.putBack(async () => {
        await rename(documentsRoot, `${documentsRoot}-lost`);
        await rename(documents, documentsRoot);
      });
      await onRestored();
    });
  } finally {
    await copy.close();
  }
}

/** PostgreSQL may be coming up, or end this very session. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (tries > 100) throw error;
      await sleep(TRY_AGAIN_MS);
    }
  }
}
