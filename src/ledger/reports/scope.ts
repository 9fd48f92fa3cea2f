import type pg from 'pg';
import { type Queryable, createPool, sqlWords, withTransaction } from '../pool';

/** The scope of a report. Days are calendar days in Asia/Kolkata, YYYY-MM-DD; both ends are included. */
export interface ReportScope {
  mode: string;
  from: string;
  to: string;
  /** Nothing after this time counts: the end of the last day, or now if that day is not over. */
  until: Date;
  /** The most rows that a table lists; figures count all rows. */
  rows: number;
}

export interface DayCount {
  day: string;
  n: number;
}

/** SQL: the scope and its days, the first CTEs of every report's statement. */
const SCOPE = `scope AS (
    SELECT $1::text AS mode, $2::date AS from_date, $3::date AS to_date, $4::timestamptz AS until, $5::int AS row_limit,
           $2::date::timestamp AT TIME ZONE 'Asia/Kolkata' AS begins),
  days AS (
    SELECT d::date AS day, to_char(d, 'YYYY-MM-DD') AS name,
           least((d::date + 1)::timestamp AT TIME ZONE 'Asia/Kolkata', scope.until) AS ends
      FROM scope, generate_series(from_date::timestamp, to_date::timestamp, interval '1 day') d)`;

/**
 * Runs one statement `WITH scope, days, …` for several parts: `lists`, and `one` for single rows. If `sql` adds CTEs,
 * it begins with a comma; its parameters start at $6. Times arrive as text.
 */
export async function partsInScope<T>(
  db: Queryable,
  scope: ReportScope,
  sql: string,
  { one = {}, lists }: { one?: Partial<Record<keyof T, string>>; lists: Partial<Record<keyof T, string>> },
  more: readonly unknown[] = [],
): Promise<T> {
  const selected = [
    ...Object.entries<string>(one as Record<string, string>).map(
      ([name, row]) => `(SELECT to_jsonb(part) FROM (${row}) part) AS "${name}"`,
    ),
    ...Object.entries<string>(lists as Record<string, string>).map(
      ([name, list]) => `(SELECT coalesce(jsonb_agg(to_jsonb(part)), '[]') FROM (${list}) part) AS "${name}"`,
    ),
  ];
  const { mode, from, to, until, rows: limit } = scope;
  const values = [mode, from, to, until, limit, ...more];
  const statement = `WITH ${SCOPE} ${sql} SELECT ${selected.join(',\n')}`;
  const { rows } = await db.query<T & pg.QueryResultRow>(statement, values);
  const [parts] = rows;
  if (!parts) throw new Error('A statement of single values has one row.');
  return parts;
}

/** SQL: CTEs that end in `spans`, the periods in which each filing was in one of these states; `until` null: still. */
export function stateSpans(...states: readonly string[]): string {
  const names = sqlWords(states);
  return `moves AS (
      SELECT e.filing_id, e.ordinal, e.at, e.state IN (${names}) AS inside
        FROM events e JOIN scope ON scope.mode = e.mode
       WHERE e.filing_id IS NOT NULL AND e.state IS NOT NULL
         AND e.filing_id IN (SELECT filing_id FROM events WHERE filing_id IS NOT NULL AND state IN (${names}))),
    turns AS (
      SELECT *, lag(inside, 1, false) OVER (PARTITION BY filing_id ORDER BY ordinal) AS inside_before FROM moves),
    edges AS (
      SELECT filing_id, inside, at, lead(at) OVER (PARTITION BY filing_id ORDER BY ordinal) AS until
        FROM turns WHERE inside <> inside_before),
    spans AS (SELECT filing_id, at AS since, until FROM edges WHERE inside)`;
}

/**
 * SQL: CTEs `steps` and `numbered`, which sum up what opens (`since`) and closes (`until`) by the first day that ends
 * after it, in one pass. The steps with `steps.k < numbered.no` count for a day.
 */
export function stepsOf(relation: string, { amount = '1', by }: { amount?: string; by?: string } = {}): string {
  const also = by === undefined ? '' : `, ${by}`;
  return `steps AS (
      SELECT width_bucket(e.at, (SELECT array_agg(ends ORDER BY ends) FROM days)) AS k, sum(e.delta) AS n${also}
        FROM (SELECT since AS at, ${amount} AS delta${also} FROM ${relation}
              UNION ALL SELECT until, -(${amount})${also} FROM ${relation} WHERE until IS NOT NULL) e GROUP BY 1${also}),
    numbered AS (SELECT name, row_number() OVER (ORDER BY ends) AS no FROM days)`;
}

/** SQL: what {@link stepsOf} counts, at the end of each day. */
export const OPEN_BY_DAY = `SELECT d.name AS day, coalesce(sum(s.n), 0)::int AS n FROM numbered d LEFT JOIN steps s ON s.k < d.no
     GROUP BY d.name ORDER BY d.name`;

/** SQL: the CTE of spans that are open at the end of the scope. Requires `spans`. */
export const OPEN_SPANS = `open_spans AS (
    SELECT s.filing_id, s.since, extract(epoch FROM scope.until - s.since)::float8 / 3600 AS hours
      FROM spans s, scope WHERE s.since < scope.until AND (s.until IS NULL OR s.until >= scope.until))`;

/** Longer time-outs than for the statements of filings, because a report reads years of data. */
const TIMEOUTS = { statementMs: 120_000, queryMs: 130_000, idleInTransactionMs: 120_000 };

let previousReport: Promise<unknown> = Promise.resolve();

/**
 * Runs `work` on its own connection in one snapshot, so that all figures of a report are of one moment. A process runs
 * one at a time, so that many readers do not take the server's connections.
 */
export function inSnapshot<T>(pool: pg.Pool, work: (db: Queryable) => Promise<T>): Promise<T> {
  const report = previousReport.then(() => snapshot(pool, work));
  previousReport = report.catch(() => undefined);
  return report;
}

async function snapshot<T>(pool: pg.Pool, work: (db: Queryable) => Promise<T>): Promise<T> {
  const url = pool.options.connectionString;
  if (url === undefined) throw new Error('The pool of a ledger has a connection string.');
  const reportPool = createPool({ url, applicationName: 'ebrc-report', max: 1, timeouts: TIMEOUTS });
  try {
    return await withTransaction(reportPool, async (client) => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      // Sort and join years of data in memory. JIT costs more than it saves in a statement that runs once, and so does
      // memoizing rows that are looked up once.
      await client.query(
        `SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true), set_config('enable_memoize', 'off', true)`,
      );
      return work(client);
    });
  } finally {
    await reportPool.end();
  }
}
