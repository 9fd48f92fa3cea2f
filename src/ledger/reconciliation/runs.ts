/** Reads the parties to reconcile, and records runs and the spans of days that were read. */
import type { Queryable } from '../pool';

export interface PartyToReconcile {
  partyId: number;
  /** The client whose credentials fetch-details and the IRM refresh use: a ready one, if there is one. */
  callAs: string;
  /** The party's other ready clients, called too, because clients of one IEC may not see each other's filings. */
  alsoAs?: string[] | null;
  iecCode: string | null;
  /** Why the service cannot be called; null: it can. */
  skip: string | null;
}

const READY = "e.state = 'ready'";
const PARTIES = `
  SELECT e.party_id AS "partyId",
         coalesce(min(e.exporter_id) FILTER (WHERE ${READY}), min(e.exporter_id)) AS "callAs",
         (array_agg(e.exporter_id ORDER BY e.exporter_id) FILTER (WHERE ${READY}))[2:] AS "alsoAs",
         coalesce(min(e.iec) FILTER (WHERE ${READY}), min(e.iec)) AS "iecCode",
         CASE WHEN NOT bool_or(${READY}) THEN 'no client of it is ready: its portal credentials or its API access are missing'
              WHEN min(e.iec) IS NULL THEN 'fetch-details needs an IEC, and neither the exporter nor its IRMs have one'
         END AS skip
    FROM exporters e`;
const GROUPED = 'GROUP BY e.party_id';

/** The next parties of a mode, in the order of their numbers. */
export async function partiesAfter(
  db: Queryable,
  { mode, after, limit }: { mode: string; after: number; limit: number },
): Promise<PartyToReconcile[]> {
  const { rows } = await db.query<PartyToReconcile>(
    `${PARTIES} WHERE e.mode = $1 AND e.party_id > $2 ${GROUPED} ORDER BY e.party_id LIMIT $3`,
    [mode, after, limit],
  );
  return rows;
}

export async function partyToReconcile(db: Queryable, exporterId: string): Promise<PartyToReconcile | null> {
  const { rows } = await db.query<PartyToReconcile>(
    `${PARTIES} WHERE e.party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)) ${GROUPED}`,
    [exporterId],
  );
  return rows[0] ?? null;
}

export async function openFilingsOf(db: Queryable, { mode, partyId }: { mode: string; partyId: number }) {
  const { rows } = await db.query<{ filingId: string; workflowId: string }>(
    `SELECT filing_id AS "filingId", workflow_id AS "workflowId" FROM filings
      WHERE mode = $1 AND closed_at IS NULL AND exporter_id IN (SELECT exporter_id FROM exporters WHERE party_id = $2)
      ORDER BY made_at LIMIT 2000`,
    [mode, partyId],
  );
  return rows;
}

/** Records the beginning of a reconciliation; continued runs keep the first record. */
export async function startRun(
  db: Queryable,
  run: {
    runId: string;
    mode: string;
    workflowId: string;
    exporterId: string | null;
    from: string;
    to: string;
    at: Date;
  },
): Promise<void> {
  await db.query(
    `INSERT INTO reconciliation_runs (run_id, mode, workflow_id, exporter_id, from_date, to_date, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (run_id) DO NOTHING`,
    [run.runId, run.mode, run.workflowId, run.exporterId, run.from, run.to, run.at],
  );
}

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

/** The current time by PostgreSQL's clock, which sightings and claims are compared with. */
export async function readingBegins(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  if (!rows[0]) throw new Error('PostgreSQL does not tell the time.');
  return rows[0].at;
}

/** Records that every certificate of a span of days was read by a reading begun at `readAt`. Dates are YYYY-MM-DD. */
export async function saveWindow(
  db: Queryable,
  { partyId, from, to, readAt }: { partyId: number; from: string; to: string; readAt: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO certificate_windows (party_id, from_date, to_date, read_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (party_id, from_date, to_date) DO UPDATE SET read_at = greatest(certificate_windows.read_at, excluded.read_at)`,
    [partyId, from, to, readAt],
  );
}

/** When each span was last read completely by one reading (null: never), and whether it has an open finding. */
export async function lastReadings(
  db: Queryable,
  { partyId, windows }: { partyId: number; windows: readonly { from: string; to: string }[] },
) {
  const { rows } = await db.query<{ readAt: Date | null; open: boolean }>(
    `SELECT (SELECT max(c.read_at) FROM certificate_windows c
              WHERE c.party_id = $1 AND c.from_date <= w."from" AND c.to_date >= w."to") AS "readAt",
            EXISTS (SELECT FROM questions f WHERE f.party_id = $1 AND f.closed_at IS NULL
              AND f.on_date BETWEEN w."from" AND w."to") AS open
       FROM jsonb_to_recordset($2::jsonb) AS w ("from" date, "to" date, n int) ORDER BY w.n`,
    [partyId, JSON.stringify(windows.map((window, n) => ({ ...window, n })))],
  );
  return rows;
}
