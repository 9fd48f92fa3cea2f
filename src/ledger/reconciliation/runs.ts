/** The companies to reconcile, and the runs of reconciliations. */
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

export interface CompanyToReconcile {
  /** Null: none of its clients has one, so it is this client alone. */
  iec: string | null;
  /** The client as which the service is called: a ready one, if there is one. */
  exporterId: string;
  /** Why the service cannot be called; null: it can. */
  skip: string | null;
  /** By this the companies are ordered. */
  key: string;
}

const READY = "e.state = 'ready'";
const KEY = `coalesce(e.iec, 'exporter:' || e.exporter_id)`;
const COMPANIES = `
  SELECT min(e.iec) AS iec, coalesce(min(e.exporter_id) FILTER (WHERE ${READY}), min(e.exporter_id)) AS "exporterId", ${KEY} AS key,
         CASE WHEN NOT bool_or(${READY}) THEN 'no client of it is ready: its portal credentials or its API access are missing'
              WHEN min(e.iec) IS NULL THEN 'fetch-details needs an IEC, and neither the exporter nor its IRMs have one'
         END AS skip
    FROM exporters e`;

/** The next companies of a mode, in the order of their keys. */
export async function companiesAfter(
  db: Queryable,
  { mode, after, limit }: { mode: Mode; after: string; limit: number },
): Promise<CompanyToReconcile[]> {
  const { rows } = await db.query<CompanyToReconcile>(
    `${COMPANIES} WHERE e.mode = $1 AND ${KEY} > $2 GROUP BY ${KEY} ORDER BY ${KEY} LIMIT $3`,
    [mode, after, limit],
  );
  return rows;
}

export async function companyToReconcile(db: Queryable, exporterId: string): Promise<CompanyToReconcile | null> {
  const { rows } = await db.query<CompanyToReconcile>(
    `${COMPANIES} JOIN exporters asked ON lower(asked.exporter_id) = lower($1)
      WHERE e.mode = asked.mode AND (e.iec = asked.iec OR e.exporter_id = asked.exporter_id) GROUP BY ${KEY}`,
    [exporterId],
  );
  return rows[0] ?? null;
}

/** Records the beginning of a reconciliation; continued runs keep the first record. */
export async function startRun(
  db: Queryable,
  run: { runId: string; mode: Mode; workflowId: string; exporterId: string | null; from: string; to: string },
): Promise<void> {
  await db.query(
    `INSERT INTO reconciliation_runs (run_id, mode, workflow_id, exporter_id, from_date, to_date, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp()) ON CONFLICT (run_id) DO NOTHING`,
    [run.runId, run.mode, run.workflowId, run.exporterId, run.from, run.to],
  );
}

export async function endRun(db: Queryable, { runId, result }: { runId: string; result: unknown }): Promise<void> {
  await db.query(
    'UPDATE reconciliation_runs SET ended_at = clock_timestamp(), result = $2 WHERE run_id = $1 AND ended_at IS NULL',
    [runId, JSON.stringify(result)],
  );
}
