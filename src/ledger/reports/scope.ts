import type pg from 'pg';
import { type Queryable, createPool, withTransaction } from '../pool';

/** The scope of a report. Days are calendar days in Asia/Kolkata, YYYY-MM-DD; both ends are included. */
export interface ReportScope {
  mode: string;
  from: string;
  to: string;
  /** Nothing after this time counts: the end of the last day, or now if that day is not over. */
  until: Date;
  /** Most rows that a table lists; figures count all. */
  rows: number;
}

export interface DayCount {
  day: string;
  n: number;
}

/** The scope and its days, as the first CTEs of every statement here. */
const SCOPE = `scope AS (
    SELECT $1::text AS mode, $2::date AS from_date, $3::date AS to_date, $4::timestamptz AS until, $5::int AS row_limit,
           $2::date::timestamp AT TIME ZONE 'Asia/Kolkata' AS begins),
  days AS (
    SELECT d::date AS day, to_char(d, 'YYYY-MM-DD') AS name,
           least((d::date + 1)::timestamp AT TIME ZONE 'Asia/Kolkata', scope.until) AS ends
      FROM scope, generate_series(from_date::timestamp, to_date::timestamp, interval '1 day') d)`;

/**
 * Runs `WITH scope, days, …` for several answers of one statement: lists, and `one` of one row. `sql` begins with a
 * comma where it adds CTEs; further parameters are $6 and so on. Instants arrive as text.
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

/** CTEs ending in `spans`: from when to when each filing stood in one of these states; `until` null: still. */
export function stateSpans(...states: readonly string[]): string {
  const names = states.map((state) => `'${state}'`).join(', ');
  return `moves AS (
      SELECT e.filing_id, e.seq, e.at, e.state IN (${names}) AS inside
        FROM filing_events e JOIN filings f USING (filing_id) JOIN scope ON scope.mode = f.mode
       WHERE e.seq IS NOT NULL AND e.filing_id IN (SELECT filing_id FROM filing_events WHERE state IN (${names}))),
    turns AS (
      SELECT *, lag(inside, 1, false) OVER (PARTITION BY filing_id ORDER BY seq) AS inside_before FROM moves),
    edges AS (
      SELECT filing_id, inside, at, lead(at) OVER (PARTITION BY filing_id ORDER BY seq) AS until
        FROM turns WHERE inside <> inside_before),
    spans AS (SELECT filing_id, at AS since, until FROM edges WHERE inside)`;
}

/**
 * CTEs `steps` and `numbered`: what opens (`since`) and closes (`until`), summed up by the first day whose end is
 * behind it, in one pass; `steps.k < numbered.no` is what counts for a day.
 */
export function stepsOf(relation: string, { amount = '1', by }: { amount?: string; by?: string } = {}): string {
  const also = by === undefined ? '' : `, ${by}`;
  return `steps AS (
      SELECT width_bucket(e.at, (SELECT array_agg(ends ORDER BY ends) FROM days)) AS k, sum(e.delta) AS n${also}
        FROM (SELECT since AS at, ${amount} AS delta${also} FROM ${relation}
              UNION ALL SELECT until, -(${amount})${also} FROM ${relation} WHERE until IS NOT NULL) e GROUP BY 1${also}),
    numbered AS (SELECT name, row_number() OVER (ORDER BY ends) AS no FROM days)`;
}

/** What {@link stepsOf} counts, at the end of each day. */
export const OPEN_BY_DAY = `SELECT d.name AS day, coalesce(sum(s.n), 0)::int AS n FROM numbered d LEFT JOIN steps s ON s.k < d.no
     GROUP BY d.name ORDER BY d.name`;

/** Spans that are open at the end of the scope. Requires `spans`. */
export const OPEN_SPANS = `open_spans AS (
    SELECT s.filing_id, s.since, extract(epoch FROM scope.until - s.since)::float8 / 3600 AS hours
      FROM spans s, scope WHERE s.since < scope.until AND (s.until IS NULL OR s.until >= scope.until))`;

/** A report reads years: its statements may take longer than those that somebody's filing waits for. */
const TIMEOUTS = { statementMs: 120_000, queryMs: 130_000, idleInTransactionMs: 120_000 };

let before: Promise<unknown> = Promise.resolve();

/**
 * Runs `work` on a connection of its own in one snapshot: all figures of a report are of one moment. One at a time in a
 * process: many readers must not take the server's connections.
 */
export function inSnapshot<T>(pool: pg.Pool, work: (db: Queryable) => Promise<T>): Promise<T> {
  const made = before.then(() => snapshot(pool, work));
  before = made.catch(() => undefined);
  return made;
}

async function snapshot<T>(pool: pg.Pool, work: (db: Queryable) => Promise<T>): Promise<T> {
  const url = pool.options.connectionString;
  if (url === undefined) throw new Error('The pool of a ledger has a connection string.');
  const own = createPool({ url, applicationName: 'ebrc-report', max: 1, timeouts: TIMEOUTS });
  try {
    return await withTransaction(own, async (client) => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      // Years are sorted and joined in memory; compiling a statement that runs once takes longer than it saves, and
      // remembering looked-up rows of which each is needed once takes longer than a join of both sides.
      await client.query(
        `SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true), set_config('enable_memoize', 'off', true)`,
      );
      return work(client);
    });
  } finally {
    await own.end();
  }
}
