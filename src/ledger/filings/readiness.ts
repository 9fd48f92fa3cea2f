import type { Queryable } from '../pool';

export interface FilingReadiness {
  /** Of the oldest balance among the filing's IRMs, ms since the epoch; null when one was never read. */
  balancesReadAt: number | null;
  apiState: string | null;
  /** ISO 8601. */
  activatesAt: string | null;
}

/**
 * How fresh the balances of the IRMs are that a filing's unsent rows take from, read by whichever client of its
 * exporter's party, and whether the exporter may file yet.
 */
export async function readReadiness(
  db: Queryable,
  { filingId, exporterId }: { filingId: string; exporterId: string },
): Promise<FilingReadiness> {
  const { rows } = await db.query<FilingReadiness>(
    `WITH wanted AS (
       SELECT DISTINCT split_part(irm_key, ' ', 1) AS number FROM filing_rows
        WHERE filing_id = $1 AND live AND submitted_at IS NULL
     ), newest AS (
       SELECT DISTINCT ON (i.irm_key, i.issue_date, i.ifsc_code) wanted.number, i.read_at
         FROM irms i JOIN wanted ON split_part(i.irm_key, ' ', 1) = wanted.number
        WHERE i.exporter_id IN (SELECT exporter_id FROM exporters WHERE party_id =
                (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($2)))
        ORDER BY i.irm_key, i.issue_date, i.ifsc_code, i.read_at DESC
     )
     SELECT CASE WHEN (SELECT count(*) FROM wanted) = (SELECT count(DISTINCT number) FROM newest)
              THEN (SELECT floor(extract(epoch FROM min(read_at)) * 1000)::float8 FROM newest) END AS "balancesReadAt",
            e.api_state AS "apiState",
            to_char(e.activates_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "activatesAt"
       FROM (VALUES (1)) AS one LEFT JOIN exporters e ON lower(e.exporter_id) = lower($2)`,
    [filingId, exporterId],
  );
  return rows[0] ?? { balancesReadAt: null, apiState: null, activatesAt: null };
}
