import type { Queryable } from '../pool';

/** A party, with the client for which its calls are made. */
export interface PartyToReconcile {
  partyId: number;
  /** The client whose credentials fetch-details and the IRM refresh use: a ready one, if there is one. */
  callAs: string;
  iecCode: string | null;
  /** Why the service cannot be asked; null where it can. */
  skip: string | null;
}

const PARTIES = `
  SELECT e.party_id AS "partyId", coalesce(ready.exporter_id, min(e.exporter_id)) AS "callAs",
         coalesce(ready.iec, min(e.iec)) AS "iecCode",
         CASE WHEN ready.exporter_id IS NULL THEN 'no client of it is ready: its portal credentials or its API access are missing'
              WHEN coalesce(ready.iec, min(e.iec)) IS NULL THEN 'fetch-details needs an IEC, and neither the exporter nor its IRMs have one'
         END AS skip
    FROM exporters e
    LEFT JOIN LATERAL (
      SELECT r.exporter_id, r.iec FROM exporters r
       WHERE r.party_id = e.party_id AND r.is_active AND r.has_credentials
         AND coalesce(r.api_state, 'ready') <> 'activation_pending'
       ORDER BY r.exporter_id LIMIT 1) ready ON true`;
const GROUPED = 'GROUP BY e.party_id, ready.exporter_id, ready.iec';

/** The next parties of a mode that ever filed or have IRMs, in the order of their numbers. */
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

/** The party of an exporter, or null where the ledger does not know it. */
export async function partyOf(db: Queryable, exporterId: string): Promise<PartyToReconcile | null> {
  const { rows } = await db.query<PartyToReconcile>(
    `${PARTIES} WHERE e.party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)) ${GROUPED}`,
    [exporterId],
  );
  return rows[0] ?? null;
}

/** Filings of a party that have not ended, with their workflow ids. */
export async function openFilingsOf(
  db: Queryable,
  { mode, partyId }: { mode: string; partyId: number },
): Promise<{ filingId: string; workflowId: string }[]> {
  const { rows } = await db.query<{ filingId: string; workflowId: string }>(
    `SELECT filing_id AS "filingId", workflow_id AS "workflowId" FROM filings
      WHERE mode = $1 AND closed_at IS NULL AND exporter_id IN (SELECT exporter_id FROM exporters WHERE party_id = $2)
      ORDER BY made_at LIMIT 2000`,
    [mode, partyId],
  );
  return rows;
}
