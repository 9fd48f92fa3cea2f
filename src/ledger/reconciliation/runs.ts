import type { Queryable } from '../pool';

export interface RunStart {
  runId: string;
  mode: string;
  workflowId: string;
  exporterId: string | null;
  from: string;
  to: string;
  at: Date;
}

/** Records that a reconciliation began; its continued runs keep the first record. */
export async function startRun(db: Queryable, run: RunStart): Promise<void> {
  await db.query(
    `INSERT INTO reconciliation_runs (run_id, mode, workflow_id, exporter_id, from_date, to_date, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (run_id) DO NOTHING`,
    [run.runId, run.mode, run.workflowId, run.exporterId, run.from, run.to, run.at],
  );
}

/** Records the result of a reconciliation, once. */
export async function endRun(
  db: Queryable,
  { runId, result, at }: { runId: string; result: unknown; at: Date },
): Promise<void> {
  await db.query('UPDATE reconciliation_runs SET ended_at = $2, result = $3 WHERE run_id = $1 AND ended_at IS NULL', [
    runId,
    at,
    JSON.stringify(result),
  ]);
}
