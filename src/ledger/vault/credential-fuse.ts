import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

/** Spec, "Validate credentials": five failures in fifteen minutes cause a refusal for fifteen more. */
const FAILURES = 5;
const SPAN_MS = 15 * 60_000;
const REFUSAL_MS = 15 * 60_000;

/**
 * Records a refused check; the service counts them per exporter and mode. Call it when the answer arrives, so that it
 * is never counted before the service counts it; a 500 does not count. Repeated with the same time it counts once.
 */
export async function recordFailedCheck(
  db: Queryable,
  { mode, exporterId, at }: { mode: Mode; exporterId: string; at: Date },
): Promise<void> {
  await db.query(
    'INSERT INTO credential_failures (mode, exporter_id, failed_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [mode, exporterId, at],
  );
}

/** Until when the service would refuse a check; null: it would not. Any five failures in the span count. */
export async function fuseBlownUntil(
  db: Queryable,
  { mode, exporterId, at }: { mode: Mode; exporterId: string; at: Date },
): Promise<Date | null> {
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

/** Deletes failures that no longer matter at `at`. @returns how many */
export async function pruneFailedChecks(db: Queryable, at: Date): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM credential_failures WHERE failed_at < $1', [
    new Date(at.getTime() - REFUSAL_MS - SPAN_MS),
  ]);
  return rowCount ?? 0;
}
