/** Differences between the ledger and the authority, and certificates without a verified PDF. */
import type { Queryable } from '../pool';
import { partsInScope, OPEN_BY_DAY, stepsOf, type DayCount, type ReportScope } from './scope';

const OPEN = `, open_findings AS (
    SELECT f.* , extract(epoch FROM scope.until - f.first_seen_at)::float8 / 86400 AS days
      FROM questions f JOIN scope ON scope.mode = f.mode
     WHERE f.until = 'fact' AND f.first_seen_at < scope.until AND (f.closed_at IS NULL OR f.closed_at >= scope.until)),
  found AS (
    SELECT f.first_seen_at AS since, f.closed_at AS until FROM questions f JOIN scope ON scope.mode = f.mode WHERE f.until = 'fact'),
  ${stepsOf('found')}`;

/** Findings that were open at the end of the scope. */
export async function reconciliationBreaks(db: Queryable, scope: ReportScope) {
  return partsInScope<{
    byKind: { kind: string; n: number; acknowledged: number; oldestDays: number }[];
    byCurrency: { currency: string; value: string }[];
    trend: DayCount[];
    findings: {
      id: string;
      kind: string;
      exporter: string | null;
      eBRCNumber: string | null;
      reference: string | null;
      workflowId: string | null;
      irmNumber: string | null;
      value: string | null;
      currency: string | null;
      days: number;
      reason: string | null;
    }[];
  }>(db, scope, OPEN, {
    lists: {
      byKind: `SELECT kind, count(*)::int AS n, count(*) FILTER (WHERE acknowledged_at IS NOT NULL)::int AS acknowledged,
         max(days) AS "oldestDays" FROM open_findings GROUP BY kind ORDER BY n DESC, kind`,
      byCurrency: `SELECT currency, sum(amount)::text AS value FROM open_findings
        WHERE currency IS NOT NULL AND amount IS NOT NULL GROUP BY currency ORDER BY currency`,
      trend: OPEN_BY_DAY,
      findings: `SELECT o.question_id::text AS id, o.kind, e.name AS exporter, o.ebrc_number AS "eBRCNumber", f.reference,
         f.workflow_id AS "workflowId", o.irm_number AS "irmNumber", o.amount::text AS value, o.currency, o.days, o.reason
         FROM open_findings o LEFT JOIN exporters e USING (exporter_id) LEFT JOIN filings f ON f.filing_id = o.filing_id
        ORDER BY o.first_seen_at, o.question_id LIMIT (SELECT row_limit FROM scope)`,
    },
  });
}

/** SQL: certificates of our rows whose PDF was missing or damaged at some time in the scope. */
const OURS = `, unarchived AS MATERIALIZED (
    SELECT filing_id, position, ebrc_number, archived_at, pdf_refused, pdf_problem FROM certificates
     WHERE filing_id IS NOT NULL
       AND (archived_at IS NULL OR archived_at >= $2::date::timestamp AT TIME ZONE 'Asia/Kolkata' OR pdf_problem IS NOT NULL)),
  ours AS (
    SELECT c.ebrc_number, c.archived_at, c.pdf_refused, r.settled_at, e.name AS exporter, f.reference, f.workflow_id,
           c.archived_at IS NULL OR c.archived_at >= scope.until AS missing,
           coalesce(c.pdf_problem, '') AS problem,
           extract(epoch FROM scope.until - r.settled_at)::float8 / 86400 AS days
      FROM scope CROSS JOIN unarchived c
      JOIN filing_rows r ON r.filing_id = c.filing_id AND r.position = c.position
      JOIN filings f ON f.filing_id = r.filing_id AND f.mode = scope.mode
      JOIN exporters e ON e.exporter_id = r.exporter_id
     WHERE r.state = 'certified' AND r.settled_at < $4::timestamptz),
  gaps AS (SELECT * FROM ours WHERE missing OR problem <> '')`;
/** SQL: the number of our certificates minus those settled after the scope, because both counts use indexes. */
const CERTIFIED = `(SELECT count(*)::int FROM certificates c JOIN filings f USING (filing_id) WHERE f.mode = $1)
    - (SELECT count(*)::int FROM certificates c JOIN filing_rows r USING (filing_id, position) JOIN filings f USING (filing_id)
        WHERE f.mode = $1 AND r.settled_at >= $4::timestamptz)`;

export async function archiveGaps(db: Queryable, scope: ReportScope) {
  return partsInScope<{
    totals: { certificates: number; missing: number; problem: number; oldestDays: number | null };
    trend: DayCount[];
    gaps: {
      eBRCNumber: string;
      exporter: string;
      reference: string;
      workflowId: string;
      settledAt: string;
      days: number;
      problem: string;
      refused: number;
    }[];
  }>(
    db,
    scope,
    `${OURS}, unstored AS (SELECT settled_at AS since, greatest(archived_at, settled_at) AS until FROM ours), ${stepsOf('unstored')}`,
    {
      one: {
        totals: `SELECT ${CERTIFIED} AS certificates, count(*) FILTER (WHERE missing)::int AS missing,
         count(*) FILTER (WHERE NOT missing)::int AS problem, max(days) AS "oldestDays" FROM gaps`,
      },
      lists: {
        trend: OPEN_BY_DAY,
        gaps: `SELECT ebrc_number AS "eBRCNumber", exporter, reference, workflow_id AS "workflowId", settled_at AS "settledAt",
         days, CASE WHEN missing THEN 'not stored yet' ELSE problem END AS problem, pdf_refused AS refused
         FROM gaps ORDER BY settled_at, ebrc_number LIMIT (SELECT row_limit FROM scope)`,
      },
    },
  );
}
