/** Differences between the ledger and the authority, and certificates without a verified PDF. */
import { ROW_OF_CERTIFICATE } from '../certificates/certificates';
import type { Queryable } from '../pool';
import { partsInScope, OPEN_BY_DAY, stepsOf, type DayCount, type ReportScope } from './scope';

const OPEN = `, open_findings AS (
    SELECT f.* , extract(epoch FROM scope.until - f.first_seen_at)::float8 / 86400 AS days
      FROM findings f JOIN scope ON scope.mode = f.mode
     WHERE f.first_seen_at < scope.until AND (f.closed_at IS NULL OR f.closed_at >= scope.until)),
  found AS (
    SELECT f.first_seen_at AS since, f.closed_at AS until FROM findings f JOIN scope ON scope.mode = f.mode),
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
      findings: `SELECT o.finding_id AS id, o.kind, e.name AS exporter, o.ebrc_number AS "eBRCNumber", f.reference,
         f.workflow_id AS "workflowId", o.irm_number AS "irmNumber", o.amount::text AS value, o.currency, o.days, coalesce(o.reason, o.text) AS reason
         FROM open_findings o LEFT JOIN exporters e USING (exporter_id) LEFT JOIN filings f ON f.filing_id = o.filing_id
        WHERE o.kind <> 'outcome_unknown' AND NOT (o.kind = 'filing_overdue'
          AND coalesce(f.attention IS NOT NULL OR f.due_at < (SELECT until FROM scope), false))
        ORDER BY o.first_seen_at, o.finding_id LIMIT (SELECT row_limit FROM scope)`,
    },
  });
}

/** SQL: certificates of our rows whose PDF was missing or damaged at some time in the scope. */
const OURS = `, unarchived AS MATERIALIZED (
    SELECT mode, iec, ebrc_number, archived_at, pdf_refused, pdf_problem FROM certificates
     WHERE mode = $1 AND (archived_at IS NULL OR archived_at >= $2::date::timestamp AT TIME ZONE 'Asia/Kolkata' OR pdf_problem IS NOT NULL)),
  ours AS (
    SELECT c.ebrc_number, c.archived_at, c.pdf_refused, r.settled_at, e.name AS exporter, f.reference, f.workflow_id,
           c.archived_at IS NULL OR c.archived_at >= scope.until AS missing,
           coalesce(c.pdf_problem, '') AS problem,
           extract(epoch FROM scope.until - r.settled_at)::float8 / 86400 AS days
      FROM scope CROSS JOIN unarchived c
      JOIN filing_rows r ON ${ROW_OF_CERTIFICATE}
      JOIN filings f ON f.filing_id = r.filing_id
      JOIN exporters e ON e.exporter_id = f.exporter_id
     WHERE r.settled_at < $4::timestamptz),
  gaps AS (SELECT * FROM ours WHERE missing OR problem <> '')`;
/** SQL: the number of our certificates. */
const CERTIFIED = `(SELECT count(*)::int FROM filing_rows WHERE mode = $1 AND state = 'certified' AND settled_at < $4::timestamptz)`;

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
