import type { Queryable } from '../pool';
import type { ReadWindow } from './compare';

/** The current time by PostgreSQL's clock, by which sightings and claims are compared. */
export async function readingBegins(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  if (!rows[0]) throw new Error('PostgreSQL does not tell the time.');
  return rows[0].at;
}

/** Records that every certificate of a span of days was read, beginning at `readAt`. Dates are YYYY-MM-DD. */
export async function saveWindow(
  db: Queryable,
  { partyId, from, to, readAt }: ReadWindow & { partyId: number },
): Promise<void> {
  await db.query(
    `INSERT INTO certificate_windows (party_id, from_date, to_date, read_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (party_id, from_date, to_date) DO UPDATE SET read_at = greatest(certificate_windows.read_at, excluded.read_at)`,
    [partyId, from, to, readAt],
  );
}

/** When each of these spans was last read completely, by one reading; null for those that never were. */
export async function lastReadings(
  db: Queryable,
  { partyId, windows }: { partyId: number; windows: readonly { from: string; to: string }[] },
): Promise<(Date | null)[]> {
  const { rows } = await db.query<{ readAt: Date | null }>(
    `SELECT (SELECT max(c.read_at) FROM certificate_windows c
              WHERE c.party_id = $1 AND c.from_date <= w."from" AND c.to_date >= w."to") AS "readAt"
       FROM jsonb_to_recordset($2::jsonb) AS w ("from" date, "to" date, n int) ORDER BY w.n`,
    [partyId, JSON.stringify(windows.map((window, n) => ({ ...window, n })))],
  );
  return rows.map(({ readAt }) => readAt);
}

/** Which of these spans hold an open finding. */
export async function windowsWithFindings(
  db: Queryable,
  { partyId, windows }: { partyId: number; windows: readonly { from: string; to: string }[] },
): Promise<boolean[]> {
  const { rows } = await db.query<{ open: boolean }>(
    `SELECT EXISTS (SELECT FROM questions f WHERE f.party_id = $1 AND f.closed_at IS NULL
                     AND f.on_date BETWEEN w."from" AND w."to") AS open
       FROM jsonb_to_recordset($2::jsonb) AS w ("from" date, "to" date, n int) ORDER BY w.n`,
    [partyId, JSON.stringify(windows.map((window, n) => ({ ...window, n })))],
  );
  return rows.map(({ open }) => open);
}
