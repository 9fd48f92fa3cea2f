import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

/** Spec, "Validate credentials": after five failures in fifteen minutes, checks are refused for fifteen more. */
const FAILURES = 5;
const SPAN_MS = 15 * 60_000;
const REFUSAL_MS = 15 * 60_000;

/** The service counts failures for each exporter in the mode of the key. */
export interface Check {
  mode: Mode;
  exporterId: string;
  at: Date;
}

/** Records a refused check when its answer arrives, never before the service counted it; a 500 does not count. */
export async function recordFailedCheck(db: Queryable, { mode, exporterId, at }: Check): Promise<void> {
  await db.query('INSERT INTO credential_failures (mode, exporter_id, failed_at) VALUES ($1, $2, $3)', [
    mode,
    exporterId,
    at,
  ]);
}

/** Whether a check may be sent: a sixth is not, while the service would refuse it. */
export async function mayCheckCredentials(
  db: Queryable,
  { mode, exporterId, at }: Check,
): Promise<{
  allowed: boolean;
  retryAt: Date | null;
}> {
  const { rows } = await db.query<{ failed_at: Date }>(
    `SELECT failed_at FROM credential_failures
      WHERE mode = $1 AND exporter_id = $2 AND failed_at > $3 ORDER BY failed_at`,
    [mode, exporterId, new Date(at.getTime() - REFUSAL_MS - SPAN_MS)],
  );
  const blownAt = lastBlown(rows.map((row) => row.failed_at.getTime()));
  if (blownAt === null || blownAt + REFUSAL_MS <= at.getTime()) return { allowed: true, retryAt: null };
  return { allowed: false, retryAt: new Date(blownAt + REFUSAL_MS) };
}

/** Deletes failures that no longer matter at `at`; returns how many. */
export async function pruneFailedChecks(db: Queryable, at: Date): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM credential_failures WHERE failed_at < $1', [
    new Date(at.getTime() - REFUSAL_MS - SPAN_MS),
  ]);
  return rowCount ?? 0;
}

/** The time of the latest fifth failure within the span. Any five in a row count: a check under way may fail later. */
function lastBlown(failedAt: number[]): number | null {
  let blownAt: number | null = null;
  for (const [index, at] of failedAt.entries()) {
    const first = failedAt[index - (FAILURES - 1)];
    if (first !== undefined && at - first <= SPAN_MS) blownAt = at;
  }
  return blownAt;
}
