import type { Queryable } from './pool';

/** Read-only checks of a ledger that may not be fully set up; none requires its tables to exist. */
export interface ServerState {
  /** PostgreSQL's clock. */
  now: Date;
  /** A standby, or a server that takes no writes. */
  readOnly: boolean;
}

export async function readServerState(db: Queryable): Promise<ServerState> {
  const { rows } = await db.query<ServerState>(
    `SELECT clock_timestamp() AS now,
            pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS "readOnly"`,
  );
  return rows[0] ?? { now: new Date(0), readOnly: true };
}

/** Tables that the user of this connection cannot read or write, by name. */
export async function tablesWithoutRights(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
        -- Workers only read which migrations there are.
        AND c.relname <> 'schema_migrations'
        AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
             AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
      ORDER BY c.relname`,
  );
  return rows.map(({ name }) => name);
}

/** Ids of the keys that stored passwords are encrypted with. */
export async function keysOfVault(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>('SELECT DISTINCT key_id AS id FROM vault_secrets ORDER BY key_id');
  return rows.map(({ id }) => id);
}
