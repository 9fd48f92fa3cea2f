import { chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { hashOfKey } from '../../src/budget/budget';
import { createPool } from '../../src/ledger/pool';
import type { TcpProxy } from '../../test/support/tcp-proxy';
import type { Workers } from '../workers';

const READ_ONLY_MS = 40_000;
/** Longer than any time-out of a statement, so that every wait of the workers has to end. */
const SILENT_MS = 35_000;
/** From the loss of the old server to the promotion of the new one. */
const FAILOVER_MS = 15_000;
const TRY_AGAIN_MS = 300;
/** What happens after the copy is missing from the restored ledger. */
const COPY_AGE_MS = 15_000;

/** Ends every connection but the one that runs this statement, idle or in the middle of a statement. */
export async function endConnections(pool: pg.Pool): Promise<void> {
  await pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
}

/**
 * Kills one of PostgreSQL's processes. PostgreSQL treats that as a crash: it closes every connection and recovers from
 * its log on the same port.
 */
export async function crashPostgres(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() LIMIT 1',
  );
  if (rows[0]) process.kill(rows[0].pid, 'SIGKILL');
}

/** Ends every session and makes new ones read-only, as on a standby after a failover. */
export async function makeReadOnly(pool: pg.Pool): Promise<void> {
  await setReadOnly(pool, true);
  await sleep(READ_ONLY_MS);
  await setReadOnly(pool, false);
}

async function setReadOnly(pool: pg.Pool, on: boolean): Promise<void> {
  const setting = on ? 'SET default_transaction_read_only TO on' : 'RESET default_transaction_read_only';
  await retry(async () => {
    const { rows } = await pool.query<{ name: string }>('SELECT current_database() AS name');
    // This session may be read-only itself.
    await pool.query(`BEGIN READ WRITE; ALTER DATABASE ${rows[0]?.name ?? ''} ${setting}; COMMIT`);
  });
  // Sessions opened while it was read-only stay so afterwards: the workers have to close them.
  if (on) await retry(() => endConnections(pool));
}

/**
 * A failover: the server crashes, comes back as a read-only standby, and is promoted to a new timeline, as after the
 * switch to a replica that had everything.
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
  await retry(() => pool.query('SELECT pg_promote()'));
}

/** The network to PostgreSQL drops every packet; one worker is told to stop meanwhile, and must. */
export async function dropPackets(proxy: TcpProxy, workers: Workers, nth: number): Promise<void> {
  proxy.swallow(true);
  const restarted = workers.restart(nth, 'SIGTERM');
  await sleep(SILENT_MS);
  proxy.swallow(false);
  await restarted;
}

/**
 * Keeps every submission waiting for its slot, as a 429 does, while `work` runs: all reads before the send are done,
 * and the next step is the send itself.
 */
export async function withSubmissionsQueued(pool: pg.Pool, apiKey: string, work: () => Promise<void>): Promise<void> {
  const close = (until: string) =>
    retry(() =>
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

/** Suffix of the database that a restore replaced. */
const LOST_SUFFIX = '_lost';

/** A copy of the ledger's database on the same server, as a backup. */
interface LedgerCopy {
  take(): Promise<void>;
  /** Replaces the ledger by its copy; the replaced database is kept, with {@link LOST_SUFFIX} behind its name. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

function copyOf(databaseUrl: string): LedgerCopy {
  const name = new URL(databaseUrl).pathname.slice(1);
  const admin = createPool({ url: Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href, max: 1 });
  const allow = (database: string, connections: boolean) =>
    admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS ${connections}`);
  const alone = async (statement: string) => {
    await allow(name, false);
    await retry(async () => {
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      await admin.query(statement);
    });
    await allow(name, true);
  };
  return {
    async take() {
      await admin.query(`DROP DATABASE IF EXISTS ${name}_copy`);
      await alone(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`);
    },
    async restore() {
      const [is, copy, lost] = [name, `${name}_copy`, `${name}${LOST_SUFFIX}`];
      await admin.query(`DROP DATABASE IF EXISTS ${lost} WITH (FORCE)`);
      // Both in one transaction, so that they can be tried again.
      await allow(copy, false);
      await alone(`ALTER DATABASE ${is} RENAME TO ${lost}; ALTER DATABASE ${copy} RENAME TO ${is}`);
      await allow(lost, true);
      // A copied sequence is logged from the next checkpoint on: a crash before it would give its values again.
      await retry(() => admin.query('CHECKPOINT'));
    },
    close: () => admin.end(),
  };
}

/**
 * Restores the ledger alone, as from a backup; documents and Temporal stay. `onRestored` is what an operator does
 * afterwards, who knows the time of the backup.
 */
export async function restoreLedger(
  databaseUrl: string,
  onRestored: (at: Date) => Promise<unknown>,
  ageMs = COPY_AGE_MS,
): Promise<void> {
  const copy = copyOf(databaseUrl);
  const at = new Date();
  try {
    await copy.take();
    await sleep(ageMs);
    await copy.restore();
  } finally {
    await copy.close();
  }
  await onRestored(at);
}

/** Retries: PostgreSQL may be starting, or end this session. */
async function retry(work: () => Promise<unknown>): Promise<void> {
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
