import type { Queryable } from '../pool';

/** A party, with the clients for which its calls are made. */
export interface PartyToReconcile {
  partyId: number;
  /** The client whose credentials fetch-details and the IRM refresh use: a ready one, if there is one. */
  callAs: string;
  /**
   * Its other ready clients, for which the same calls are made: it is not specified whether one client is shown what
   * another client of its IEC has filed.
   */
  alsoAs?: string[] | null;
  iecCode: string | null;
  /** Why the service cannot be asked; null where it can. */
  skip: string | null;
}

const READY = `(e.is_active AND e.has_credentials AND coalesce(e.api_state, 'ready') <> 'activation_pending')`;
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
