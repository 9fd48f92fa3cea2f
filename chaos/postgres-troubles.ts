import { chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { hashOfKey } from '../src/budget/budget';
import { createPool } from '../src/ledger/pool';
import type { TcpProxy } from '../test/support/tcp-proxy';
import type { Crew } from './crew';

const READ_ONLY_MS = 40_000;
/** Longer than any statement is waited for, so that every wait of the workers is seen to end. */
const SILENT_MS = 35_000;
/** From the loss of the old server to the promotion of the new one. */
const FAILOVER_MS = 15_000;
const TRY_AGAIN_MS = 300;
/** What happens in between is what the restored ledger does not know. */
const SNAPSHOT_AGE_MS = 15_000;

/** Ends every connection but the one that says so, idle or in mid-statement. */
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
export async function silenceForAWhile(proxy: TcpProxy, crew: Crew, nth: number): Promise<void> {
  proxy.swallow(true);
  const restarted = crew.restart(nth, 'SIGTERM');
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

/**
 * The ledger alone is put back to how it was a while ago, as from a backup; documents and Temporal stay. `onRestored`
 * is what its operator does then.
 */
export async function restoreLedger(databaseUrl: string, onRestored: () => Promise<void>): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const admin = createPool({ url: Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href, max: 1 });
  const alone = async (statements: readonly string[]) => {
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await untilDone(async () => {
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      for (const statement of statements) await admin.query(statement);
    });
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  };
  try {
    await alone([`CREATE DATABASE ${name}_snapshot TEMPLATE ${name}`]);
    await sleep(SNAPSHOT_AGE_MS);
    await alone([`DROP DATABASE IF EXISTS ${name}`, `ALTER DATABASE ${name}_snapshot RENAME TO ${name}`]);
  } finally {
    await admin.end();
  }
  await onRestored();
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
