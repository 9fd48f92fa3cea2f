/** Copies of what a ledger knows of filings, which may be brought back as after a restore. */
import type { TestDatabase } from './postgres';

const TABLES = [
  ...['ledger', 'exporters', 'irms', 'irm_changes', 'filing_inputs', 'filings', 'filing_rows', 'attempts', 'readings'],
  ...['decisions', 'certificates', 'events', 'findings'],
];

/** Copies the ledger; there is one copy of each database. */
export async function takeCopy({ pool }: Pick<TestDatabase, 'pool'>): Promise<void> {
  const copies = TABLES.map((table) => `CREATE TABLE copy.${table} AS TABLE public.${table};`);
  await pool.query(`DROP SCHEMA IF EXISTS copy CASCADE; CREATE SCHEMA copy; ${copies.join('\n')}`);
}

/** Brings the copy back; `promoted`: the server says that it is another one. */
export async function bringBack({ pool }: Pick<TestDatabase, 'pool'>, promoted: boolean): Promise<void> {
  const { rows } = await pool.query<{ table: string; columns: string }>(
    `SELECT table_name AS "table", string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns
       FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ANY ($1) AND is_generated = 'NEVER'
      GROUP BY 1`,
    [TABLES],
  );
  const emptied = rows.map(({ table }) => `DELETE FROM public.${table};`);
  const filled = rows.map(
    ({ table, columns }) =>
      `INSERT INTO public.${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM copy.${table};`,
  );
  const another = promoted ? `UPDATE ledger SET branch = '/' || left(gen_random_uuid()::text, 8);` : '';
  await pool.query(
    `BEGIN; SET LOCAL session_replication_role = replica; ${[...emptied, ...filled, another].join('\n')} COMMIT;`,
  );
}
