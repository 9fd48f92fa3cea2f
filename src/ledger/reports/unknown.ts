import type { Queryable } from '../pool';
import { attentionOf } from '../questions/questions';
import { inScope, oneInScope, openByDay, OPEN_SPANS, stateSpans, type DayCount, type ReportScope } from './scope';

const UNKNOWN = `, ${stateSpans('outcome_unknown')}, ${OPEN_SPANS}`;
/** Rows of such a filing that were sent and not settled by then. */
const SENT = `r.filing_id = o.filing_id AND r.live AND r.submitted_at < scope.until
  AND (r.settled_at IS NULL OR r.settled_at >= scope.until)`;

/** Filings of unknown outcome. */
export async function unknownOutcomes(
  db: Queryable,
  scope: ReportScope,
): Promise<{
  totals: { filings: number; olderThanDay: number; oldestHours: number | null };
  /** The amounts that were sent and have no outcome, by currency. */
  atRisk: { currency: string; value: string }[];
  trend: DayCount[];
  filings: {
    filingId: string;
    reference: string;
    exporter: string;
    workflowId: string;
    since: Date;
    hours: number;
    rows: number;
    value: string;
    currency: string | null;
    attention: string | null;
  }[];
}> {
  return {
    totals: await oneInScope(
      db,
      scope,
      `${UNKNOWN} SELECT count(*)::int AS filings, count(*) FILTER (WHERE hours > 24)::int AS "olderThanDay",
         max(hours) AS "oldestHours" FROM open_spans`,
    ),
    atRisk: await inScope(
      db,
      scope,
      `${UNKNOWN} SELECT r.currency, sum(r.mapped_amount)::text AS value
         FROM open_spans o CROSS JOIN scope JOIN filing_rows r ON ${SENT} GROUP BY r.currency ORDER BY r.currency`,
    ),
    trend: await inScope(db, scope, `, ${stateSpans('outcome_unknown')}, ${openByDay('spans')}`),
    filings: await inScope(
      db,
      scope,
      `${UNKNOWN} SELECT f.filing_id AS "filingId", f.reference, e.name AS exporter, f.workflow_id AS "workflowId", o.since, o.hours,
         count(r.filing_id)::int AS rows, coalesce(sum(r.mapped_amount), 0)::text AS value, r.currency, ${attentionOf('f')} AS attention
         FROM open_spans o CROSS JOIN scope JOIN filings f USING (filing_id) JOIN exporters e USING (exporter_id)
         LEFT JOIN filing_rows r ON ${SENT}
        GROUP BY f.filing_id, f.reference, e.name, f.workflow_id, o.since, o.hours, r.currency
        ORDER BY o.since, f.filing_id LIMIT (SELECT row_limit FROM scope)`,
    ),
  };
}
