/** Outcomes of uploaded rows, the duration of requests, and filings that wait or have an unknown outcome. */
import { ROW_OF_CERTIFICATE } from '../certificates/certificates';
import type { Queryable } from '../pool';
import { OPEN_BY_DAY, OPEN_SPANS, partsInScope, stateSpans, stepsOf, type DayCount, type ReportScope } from './scope';

const UPLOADED = `, uploaded AS (
    SELECT to_char(f.made_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD') AS day,
           least(f.checked_at, r.sent_at) < scope.until AS passed,
           -- Where the answer was lost, the certificate shows that the service had accepted the row.
           (r.state = 'certified' AND r.settled_at < scope.until)
             OR EXISTS (SELECT FROM attempts a WHERE a.filing_id = r.filing_id AND a.request_id IS NOT NULL AND a.marked_at < scope.until) AS acknowledged,
           r.state = 'certified' AND r.settled_at < scope.until AS processed,
           r.state = 'certified' AND c.first_seen_at < scope.until AS fetched,
           r.state = 'certified' AND c.archived_at < scope.until AS archived
      FROM scope JOIN filings f ON f.mode = scope.mode AND f.made_at >= scope.begins AND f.made_at < scope.until
      JOIN filing_rows r USING (filing_id)
      LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE})`;

interface WaitingFiling {
  filingId: string;
  reference: string;
  exporter: string;
  workflowId: string;
  since: string;
  hours: number;
  attention: string;
}

/**
 * SQL: filings that need somebody, but for unknown outcomes, which have a list. What needed somebody before is not
 * known. An exporter's credentials are asked for once, in the line of the filing that has waited longest.
 */
const WAITING = `SELECT "filingId", reference || CASE WHEN asking > 1 THEN ' and ' || asking - 1 || ' more' ELSE '' END AS reference,
            exporter, "workflowId", since, hours, attention
       FROM (SELECT f.filing_id AS "filingId", f.reference, e.name AS exporter, f.workflow_id AS "workflowId", f.since,
               extract(epoch FROM scope.until - f.since)::float8 / 3600 AS hours,
               CASE WHEN f.state = 'needs_credentials'
                    THEN 'Submit working portal credentials: ebrc credentials ' || e.email || ' --username USER. Its filings continue by themselves.'
                    ELSE coalesce(f.attention, 'It has not moved for longer than it should: ebrc show ' || f.filing_id) END AS attention,
               row_number() OVER question AS nth, count(*) OVER (PARTITION BY CASE WHEN f.state = 'needs_credentials' THEN f.exporter_id ELSE f.filing_id END) AS asking
          FROM scope JOIN filings f ON f.mode = scope.mode AND f.state <> 'outcome_unknown' AND f.since < scope.until
            AND (f.attention IS NOT NULL OR (f.closed_at IS NULL AND f.due_at < scope.until))
          JOIN exporters e USING (exporter_id)
        WINDOW question AS (PARTITION BY CASE WHEN f.state = 'needs_credentials' THEN f.exporter_id ELSE f.filing_id END
          ORDER BY f.since, f.filing_id)) AS waiting
      WHERE nth = 1 ORDER BY since, "filingId" LIMIT (SELECT row_limit FROM scope)`;

const UNKNOWN = `, ${stateSpans('outcome_unknown')}, ${OPEN_SPANS}, ${stepsOf('spans')}`;
/** SQL: row `r` of the filing `o` was sent and not settled by the end of the scope. */
const SENT = `r.filing_id = o.filing_id AND r.sent_at < scope.until
  AND coalesce(least(r.settled_at, r.freed_at), 'infinity') >= scope.until`;

export async function unknownOutcomes(db: Queryable, scope: ReportScope) {
  return partsInScope<{
    totals: { filings: number; olderThanDay: number; oldestHours: number | null };
    /** The amounts that were sent and have no outcome, by currency. */
    atRisk: { currency: string; value: string }[];
    trend: DayCount[];
    /** Where the rows have several currencies, `value` is null and `currency` has each amount. */
    filings: (WaitingFiling & { rows: number; value: string | null; currency: string | null })[];
  }>(db, scope, UNKNOWN, {
    one: {
      totals: `SELECT count(*)::int AS filings, count(*) FILTER (WHERE hours > 24)::int AS "olderThanDay",
         max(hours) AS "oldestHours" FROM open_spans`,
    },
    lists: {
      atRisk: `SELECT r.currency, sum(r.amount)::text AS value
         FROM open_spans o CROSS JOIN scope JOIN filing_rows r ON ${SENT} GROUP BY r.currency ORDER BY r.currency`,
      trend: OPEN_BY_DAY,
      filings: `SELECT f.filing_id AS "filingId", f.reference, e.name AS exporter, f.workflow_id AS "workflowId", o.since, o.hours,
         coalesce(s.rows, 0) AS rows, CASE WHEN s.currencies > 1 THEN NULL ELSE coalesce(s.value, 0)::text END AS value, s.currency,
         coalesce(f.attention, 'Nothing yet: evidence whether it was filed is being gathered.') AS attention
         FROM open_spans o CROSS JOIN scope JOIN filings f USING (filing_id) JOIN exporters e USING (exporter_id)
         LEFT JOIN LATERAL (SELECT sum(c.rows)::int AS rows, count(*) AS currencies, sum(c.value) AS value,
              CASE WHEN count(*) > 1 THEN string_agg(c.value || ' ' || c.currency, ', ' ORDER BY c.currency) ELSE min(c.currency) END AS currency
            FROM (SELECT r.currency, count(*) AS rows, sum(r.amount) AS value FROM filing_rows r WHERE ${SENT} GROUP BY r.currency) AS c) AS s ON true
        ORDER BY o.since, f.filing_id LIMIT (SELECT row_limit FROM scope)`,
    },
  });
}

/** How many rows of filings made in the scope reached each step, also by the day on which they were made. */
export async function rowFunnel(db: Queryable, scope: ReportScope) {
  const counted = ['passed', 'acknowledged', 'processed', 'fetched', 'archived']
    .map((step) => `count(*) FILTER (WHERE ${step})::int AS ${step}`)
    .join(', ');
  return partsInScope<{
    steps: {
      uploaded: number;
      passed: number;
      acknowledged: number;
      processed: number;
      fetched: number;
      archived: number;
    };
    trend: { day: string; uploaded: number; processed: number }[];
    waiting: WaitingFiling[];
  }>(db, scope, UPLOADED, {
    one: { steps: `SELECT count(*)::int AS uploaded, ${counted} FROM uploaded` },
    lists: {
      trend: `SELECT d.name AS day, count(u.day)::int AS uploaded, count(*) FILTER (WHERE u.processed)::int AS processed
         FROM days d LEFT JOIN uploaded u ON u.day = d.name GROUP BY d.name ORDER BY d.name`,
      waiting: WAITING,
    },
  });
}

const TOOK = `, took AS (
    SELECT a.filing_id, a.number, a.request_id, a.marked_at, to_char(a.ended_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD') AS day,
           extract(epoch FROM a.ended_at - a.marked_at)::float8 / 3600 AS hours
      FROM attempts a JOIN scope ON scope.mode = a.mode
     WHERE a.request_id IS NOT NULL AND a.ended_at >= scope.begins AND a.ended_at < scope.until)`;

/** Edges of the histogram, in hours. */
export const LATENCY_EDGES = [0.5, 1, 2, 3, 4, 8] as const;

/** How long requests took from the send to the outcome of all their rows, in hours, by the day of the outcome. */
export async function requestLatency(db: Queryable, scope: ReportScope) {
  const quantile = (share: number) => `percentile_cont(${share}) WITHIN GROUP (ORDER BY hours)`;
  const summary = `count(*)::int AS requests, ${quantile(0.5)} AS p50, ${quantile(0.95)} AS p95, max(hours) AS max,
    count(*) FILTER (WHERE hours > 2)::int AS "over2h", count(*) FILTER (WHERE hours > 4)::int AS "over4h"`;
  return partsInScope<{
    summary: {
      requests: number;
      p50: number | null;
      p95: number | null;
      max: number | null;
      over2h: number;
      over4h: number;
    };
    /** Requests below the first edge, between two edges, and above the last one. */
    histogram: { n: number }[];
    trend: { day: string; p50: number | null; p95: number | null }[];
    slowest: {
      reference: string;
      workflowId: string;
      requestId: string | null;
      rows: number;
      submittedAt: string;
      hours: number;
    }[];
  }>(
    db,
    scope,
    TOOK,
    {
      one: { summary: `SELECT ${summary} FROM took` },
      lists: {
        histogram: `SELECT count(took.hours)::int AS n FROM generate_series(0, cardinality($6::float8[])) b
         LEFT JOIN took ON width_bucket(took.hours, $6::float8[]) = b GROUP BY b ORDER BY b`,
        trend: `SELECT d.name AS day, ${quantile(0.5)} AS p50, ${quantile(0.95)} AS p95
         FROM days d LEFT JOIN took t ON t.day = d.name GROUP BY d.name ORDER BY d.name`,
        slowest: `SELECT f.reference, f.workflow_id AS "workflowId", t.request_id AS "requestId",
              (SELECT count(*)::int FROM filing_rows r WHERE r.filing_id = t.filing_id) AS rows, t.marked_at AS "submittedAt", t.hours
         FROM took t JOIN filings f USING (filing_id) ORDER BY t.hours DESC, t.filing_id LIMIT (SELECT row_limit FROM scope)`,
      },
    },
    [LATENCY_EDGES],
  );
}

/** Codes of errors that our own check finds, so that such a row should not have been sent (docs/reports.md). */
const CHECKED_BEFORE_FILING = 'ERR8 ERR11 ERR14 ERR25 ERR28 ERR29 ERR31 ERR32 ERR36 ERR37 ERR38'.split(' ');

/** SQL: the code at the beginning of the authority's message; `ERR-08: …` becomes ERR8. */
const CODE = `coalesce(upper(regexp_replace(substring(m.text from '^\\s*([A-Za-z]{2,12}[-_ ]?[0-9]{1,5})\\M'), '[-_ ]?0*(?=[0-9])', '')), 'no code')`;

const REJECTED = `, settled AS (
    SELECT r.filing_id, r.position, r.source_row, f.exporter_id, CASE WHEN r.state <> 'certified' THEN r.mapping END AS mapping, r.errors, r.amount, r.currency, r.state,
           f.n, f.reference, f.workflow_id,
           to_char(r.settled_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD') AS day, r.settled_at
      FROM scope JOIN filings f ON f.mode = scope.mode JOIN filing_rows r USING (filing_id)
     WHERE r.settled_at >= scope.begins AND r.settled_at < scope.until
       AND (r.state = 'certified' OR (r.state = 'rejected' AND jsonb_array_length(r.errors) > 0))),
  rejected AS (SELECT * FROM settled WHERE state <> 'certified'),
  coded AS (SELECT DISTINCT j.filing_id, j.position, ${CODE} AS code
              FROM rejected j CROSS JOIN LATERAL jsonb_array_elements_text(j.errors) AS m (text))`;

/** Rejections by the authority, by the day of the rejection. */
export async function rejections(db: Queryable, scope: ReportScope) {
  const pareto = (what: string) => `${what} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT (SELECT row_limit FROM scope)`;
  return partsInScope<{
    totals: {
      settled: number;
      rejected: number;
      /** Rows of the first filing of each reference. */
      firstSettled: number;
      firstCertified: number;
      escaped: number;
    };
    byCode: { name: string; rows: number }[];
    byExporter: { name: string; rows: number }[];
    byPort: { name: string; rows: number }[];
    trend: { day: string; settled: number; rejected: number }[];
    rows: {
      reference: string;
      workflowId: string;
      row: number;
      exporter: string;
      port: string | null;
      document: string | null;
      value: string;
      currency: string;
      settledAt: string;
      errors: string;
    }[];
  }>(
    db,
    scope,
    REJECTED,
    {
      one: {
        totals: `SELECT count(*)::int AS settled, count(*) FILTER (WHERE state <> 'certified')::int AS rejected,
         count(*) FILTER (WHERE n = 1)::int AS "firstSettled",
         count(*) FILTER (WHERE n = 1 AND state = 'certified')::int AS "firstCertified",
         (SELECT count(DISTINCT (filing_id, position))::int FROM coded WHERE code = ANY($6)) AS escaped FROM settled`,
      },
      lists: {
        byCode: pareto('SELECT code AS name, count(*)::int AS rows FROM coded'),
        byExporter: pareto('SELECT e.name, count(*)::int AS rows FROM rejected JOIN exporters e USING (exporter_id)'),
        byPort: pareto(`SELECT coalesce(mapping->>'portCode', '') AS name, count(*)::int AS rows FROM rejected`),
        trend: `SELECT d.name AS day, count(s.day)::int AS settled, count(*) FILTER (WHERE s.state <> 'certified')::int AS rejected
         FROM days d LEFT JOIN settled s ON s.day = d.name GROUP BY d.name ORDER BY d.name`,
        rows: `SELECT j.reference, j.workflow_id AS "workflowId", j.source_row AS row, e.name AS exporter,
         j.mapping->>'portCode' AS port, j.mapping->>'sbCumInvoiceNumber' AS document, j.amount::text AS value, j.currency,
         j.settled_at AS "settledAt", (SELECT string_agg(text, '; ') FROM jsonb_array_elements_text(j.errors) AS m (text)) AS errors
         FROM rejected j JOIN exporters e USING (exporter_id)
        ORDER BY j.settled_at DESC, j.filing_id, j.position LIMIT (SELECT row_limit FROM scope)`,
      },
    },
    [CHECKED_BEFORE_FILING],
  );
}
