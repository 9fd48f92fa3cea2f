/**
 * The ledger's whole history, which it does not keep itself: triggers that only a chaos run and tests install write
 * every change of filings, rows, attempts and sends into a table of their own, with its transaction.
 */
import type { Queryable } from '../../src/ledger/pool';

/** The columns of each table that the protocol's model has. A send without an attempt is a number that was given up. */
const RECORDED = {
  filings: ['state'],
  filing_rows: ['position', 'submission', 'state', 'live'],
  attempts: ['number', 'submission', 'verdict', 'sender', 'reason', 'request'],
  sends: ['number', 'attempt_id', 'sender'],
} as const;

type Table = keyof typeof RECORDED;

/** One row as a transaction left it; `row` is null where it was deleted. */
export interface Change {
  /** The transaction. */
  tx: string;
  table: Table;
  filingId: string;
  row: Record<string, unknown> | null;
  before: Record<string, unknown> | null;
}

/** Starts recording; what is there already is not recorded. Call it once, on a ledger that is migrated. */
export async function recordChanges(db: Queryable): Promise<void> {
  await db.query('CREATE SCHEMA history');
  await db.query(
    `CREATE TABLE history.changes (change_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tx text NOT NULL DEFAULT pg_current_xact_id()::text,
       table_name text NOT NULL, filing_id text, row_before jsonb, row_after jsonb)`,
  );
  await db.query(
    `CREATE FUNCTION history.record() RETURNS trigger LANGUAGE plpgsql AS $$
     DECLARE
       v_before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
       v_after  jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
       v_row    jsonb := coalesce(v_after, v_before);
     BEGIN
       -- Of an answer its request alone: one may be megabytes.
       v_before := v_before || jsonb_build_object('request', v_before #> '{answer,requestId}');
       v_after := v_after || jsonb_build_object('request', v_after #> '{answer,requestId}');
       SELECT jsonb_object_agg(key, value) INTO v_before FROM jsonb_each(v_before) WHERE key = ANY (TG_ARGV);
       SELECT jsonb_object_agg(key, value) INTO v_after FROM jsonb_each(v_after) WHERE key = ANY (TG_ARGV);
       IF v_before IS DISTINCT FROM v_after THEN
         INSERT INTO history.changes (table_name, filing_id, row_before, row_after)
         VALUES (TG_TABLE_NAME, coalesce(v_row ->> 'filing_id', regexp_replace(v_row ->> 'attempt_id', '-[0-9]+-[0-9]+$', '')),
           v_before, v_after);
       END IF;
       RETURN NULL;
     END $$`,
  );
  for (const [table, columns] of Object.entries(RECORDED)) {
    await db.query(
      `CREATE TRIGGER history AFTER INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW
         EXECUTE FUNCTION history.record(${columns.map((name) => `'${name}'`).join(', ')})`,
    );
  }
}

/** Forgets what was recorded so far. */
export async function forgetChanges(db: Queryable): Promise<void> {
  await db.query('DELETE FROM history.changes');
}

/** What was recorded, in the order in which it was written; whoever changes a filing holds its lock meanwhile. */
export async function readChanges(db: Queryable): Promise<Change[]> {
  const { rows } = await db.query<Change>(
    `SELECT tx, table_name AS "table", filing_id AS "filingId", row_after AS row, row_before AS before
       FROM history.changes WHERE filing_id IS NOT NULL ORDER BY change_id`,
  );
  return rows;
}
