import type { Queryable } from '../pool';

/** Removes findings that were closed, runs that ended and readings that were made before a moment. */
export async function pruneReconciliation(
  db: Queryable,
  before: Date,
): Promise<{ findings: number; runs: number; windows: number }> {
  const findings = await db.query('DELETE FROM questions WHERE closed_at < $1', [before]);
  const runs = await db.query('DELETE FROM reconciliation_runs WHERE started_at < $1', [before]);
  const windows = await db.query('DELETE FROM certificate_windows WHERE read_at < $1', [before]);
  return { findings: findings.rowCount ?? 0, runs: runs.rowCount ?? 0, windows: windows.rowCount ?? 0 };
}
