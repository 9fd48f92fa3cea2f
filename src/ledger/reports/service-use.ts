/** Exporters that cannot file, and the use of the service's limits. */
import { OPERATIONS, OPERATION_NAMES } from '../../domain/service/operations';
import { RATE_LIMITS, type Mode } from '../../domain/names';
import type { Quota } from '../../domain/service/limits';
import type { Queryable } from '../pool';
import { OPEN_BY_DAY, OPEN_SPANS, partsInScope, stateSpans, stepsOf, type DayCount, type ReportScope } from './scope';

/** SQL: the state of each exporter today, with the reason if its credentials are known to be bad. */
const STANDING = `, standing AS (
    SELECT e.exporter_id, e.name, e.email, e.activates_at, p.reason,
           CASE WHEN p.reason = 'account_locked' THEN 'locked'
                WHEN e.state = 'needs_credentials' THEN 'invalid'
                WHEN e.state = 'activation_pending' THEN 'pending'
                ELSE e.state END AS state,
           extract(epoch FROM e.activates_at - scope.until)::float8 / 3600 AS "hoursLeft"
      FROM exporters e JOIN scope ON scope.mode = e.mode CROSS JOIN LATERAL credentials_problem(e) AS p (reason))`;

/** Exporters by state, and the filings that wait for credentials. */
export async function credentialStanding(db: Queryable, scope: ReportScope) {
  const sql = `${STANDING}, ${stateSpans('needs_credentials')}, ${OPEN_SPANS}, ${stepsOf('spans')}`;
  return partsInScope<{
    blocked: { n: number };
    byState: { state: string; n: number }[];
    trend: DayCount[];
    exporters: {
      name: string;
      email: string;
      state: string;
      hoursLeft: number | null;
      reason: string | null;
      filings: number;
    }[];
  }>(db, scope, sql, {
    one: { blocked: 'SELECT count(*)::int AS n FROM open_spans' },
    lists: {
      byState: 'SELECT state, count(*)::int AS n FROM standing GROUP BY state ORDER BY state',
      trend: OPEN_BY_DAY,
      exporters: `SELECT s.name, s.email, s.state, CASE WHEN s.state = 'pending' THEN greatest(s."hoursLeft", 0) END AS "hoursLeft",
         s.reason, (SELECT count(*)::int FROM filings f WHERE f.exporter_id = s.exporter_id AND f.closed_at IS NULL) AS filings
         FROM standing s WHERE s.state <> 'ready' ORDER BY filings DESC, s.name LIMIT (SELECT row_limit FROM scope)`,
    },
  });
}

const CLASSES = OPERATION_NAMES.flatMap((operation) => {
  const { rateClass } = OPERATIONS[operation];
  return rateClass === null ? [] : [{ operation, rateClass, limit: RATE_LIMITS[rateClass] }];
});

const CALLED = `, classes AS (SELECT * FROM jsonb_to_recordset($6::jsonb) AS c (operation text, "rateClass" text, "limit" int)),
  by_minute AS (
    SELECT c."rateClass", date_trunc('minute', a.at) AS minute, count(*)::int AS n,
           count(*) FILTER (WHERE a.status = 429)::int AS refused
      FROM scope JOIN api_calls a ON a.mode = scope.mode AND a.at >= to_date::timestamp AT TIME ZONE 'Asia/Kolkata' AND a.at < scope.until
      JOIN classes c USING (operation) GROUP BY 1, 2),
  by_day AS (
    SELECT to_char(a.at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD') AS day, count(*)::int AS calls,
           count(*) FILTER (WHERE a.status = 429)::int AS refused
      FROM scope JOIN api_calls a ON a.mode = scope.mode AND a.at >= scope.begins AND a.at < scope.until GROUP BY 1)`;

/** SQL: certificates of our filings in a calendar month up to a time, and exporters. */
const QUOTA_USED = (mode: string, month: string, until: string) =>
  `SELECT (SELECT count(*)::int FROM filing_rows r WHERE r.mode = ${mode} AND r.state = 'certified' AND r.settled_at < ${until}
       AND r.settled_at >= date_trunc('month', ${month}::timestamp) AT TIME ZONE 'Asia/Kolkata') AS certificates,
     (SELECT count(*)::int FROM exporters e WHERE e.mode = ${mode}) AS exporters`;

/** What is used of the service's contract now. */
export async function quotaUsed(db: Queryable, mode: Mode): Promise<Quota> {
  const { rows } = await db.query<Quota>(
    QUOTA_USED('$1', `(clock_timestamp() AT TIME ZONE 'Asia/Kolkata')`, 'clock_timestamp()'),
    [mode],
  );
  return rows[0] ?? { certificates: 0, exporters: 0 };
}

/** Calls of the last day against the limits of the service (spec: "Limits"). */
export async function serviceUse(db: Queryable, scope: ReportScope) {
  return partsInScope<{
    quota: Quota;
    classes: {
      rateClass: string;
      limit: number;
      calls: number;
      peak: number;
      refused: number;
      /** Calls that wait in the workers now. */
      waiting: number;
    }[];
    trend: { day: string; calls: number; refused: number }[];
  }>(
    db,
    scope,
    CALLED,
    {
      one: {
        quota: `${QUOTA_USED('scope.mode', 'to_date', 'scope.until')} FROM scope`,
      },
      lists: {
        classes: `SELECT k."rateClass", k."limit", coalesce(sum(n), 0)::int AS calls, coalesce(max(n), 0)::int AS peak,
              coalesce(sum(refused), 0)::int AS refused,
              (SELECT count(*)::int FROM budget_tickets t WHERE t.rate_class = k."rateClass" AND t.lease_until > clock_timestamp()
                  AND starts_with(t.key_hash, (SELECT mode FROM scope) || ':')) AS waiting
         FROM (SELECT DISTINCT "rateClass", "limit" FROM classes) k LEFT JOIN by_minute USING ("rateClass")
        GROUP BY k."rateClass", k."limit" ORDER BY k."rateClass"`,
        trend: `SELECT d.name AS day, coalesce(c.calls, 0) AS calls, coalesce(c.refused, 0) AS refused
        FROM days d LEFT JOIN by_day c ON c.day = d.name ORDER BY d.name`,
      },
    },
    [JSON.stringify(CLASSES)],
  );
}
