import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from './pool';

/** Like the other checks here it requires no tables, because the ledger may not be set up. */
export async function readServerState(db: Queryable) {
  const { rows } = await db.query<{
    /** PostgreSQL's clock. */
    now: Date;
    /** Whether the server is a standby or accepts no writes. */
    readOnly: boolean;
  }>(
    `SELECT clock_timestamp() AS now,
            pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS "readOnly"`,
  );
  return rows[0] ?? { now: new Date(0), readOnly: true };
}

/** Names of the tables on which the connection's user lacks a right that workers need. */
export async function tablesWithoutRights(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
        AND NOT (SELECT bool_and(has_table_privilege(c.oid, needed)) FROM unnest(CASE
          -- The same rights as in grant_ledger_rights(): roles are only read, evidence is only added.
          WHEN c.relname IN ('schema_migrations', 'principals', 'principal_tokens', 'sessions') THEN ARRAY['SELECT']
          WHEN c.relname IN ('audit_events', 'policy_changes', 'consents', 'events') THEN ARRAY['SELECT', 'INSERT']
          WHEN c.relname IN ('budget_slots', 'budget_tickets', 'vault_secrets', 'credential_failures')
            THEN ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']
          ELSE ARRAY['SELECT', 'INSERT', 'UPDATE'] END) AS needed)
      ORDER BY c.relname`,
  );
  return rows.map(({ name }) => name);
}

/** Ids of the keys that stored passwords are encrypted with. */
export async function keysOfVault(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>('SELECT DISTINCT key_id AS id FROM vault_secrets ORDER BY key_id');
  return rows.map(({ id }) => id);
}

/** A custom session setting. */
const SETTING = 'ebrc.session';

/** @throws if a pooler shares sessions: then one connection sees what another one has set */
export async function refuseSharedSessions(pool: pg.Pool): Promise<void> {
  const own = randomUUID();
  const first = await pool.connect();
  try {
    await first.query(`SELECT set_config('${SETTING}', '${own}', false)`);
    const second = await pool.connect();
    try {
      const { rows } = await second.query<{ seen: string | null }>(
        `SELECT current_setting('${SETTING}', true) AS seen`,
      );
      if (rows[0]?.seen !== own) return;
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
  throw new Error(
    'DATABASE_URL leads to a pooler that shares sessions between connections (PgBouncer: pool_mode = transaction). ' +
      'Each connection needs a session of its own, for locks, LISTEN and prepared statements: set pool_mode = session ' +
      'for this database, or name PostgreSQL itself.',
  );
}
