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

/** Until when a check would be refused; null: one may be sent. Any five failures count. */
export async function fuseBlownUntil(db: Queryable, { mode, exporterId, at }: Check): Promise<Date | null> {
  const { rows } = await db.query<{ blownAt: Date | null }>(
    `SELECT max(failed_at) AS "blownAt" FROM (
       SELECT failed_at, lag(failed_at, ${FAILURES - 1}) OVER (ORDER BY failed_at) AS first FROM credential_failures
        WHERE mode = $1 AND exporter_id = $2 AND failed_at > $3) AS failed
      WHERE failed_at - first <= $4 * interval '1 millisecond'`,
    [mode, exporterId, new Date(at.getTime() - REFUSAL_MS - SPAN_MS), SPAN_MS],
  );
  const blownAt = rows[0]?.blownAt ?? null;
  if (blownAt === null) return null;
  const until = new Date(blownAt.getTime() + REFUSAL_MS);
  return until > at ? until : null;
}

/** Deletes failures that no longer matter at `at`; returns how many. */
export async function pruneFailedChecks(db: Queryable, at: Date): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM credential_failures WHERE failed_at < $1', [
    new Date(at.getTime() - REFUSAL_MS - SPAN_MS),
  ]);
  return rowCount ?? 0;
}
