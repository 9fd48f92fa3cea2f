import { DETAILS_CALLER, type DetailsCaller } from '../exporters/exporters';
import { sameIrm } from '../exporters/irms';
import type { Queryable } from '../pool';

/** Certificates and balances shortly before a send; an unknown outcome is settled by comparison with them. */
export interface Snapshot {
  takenAt: Date;
  /** Certificate numbers issued that day; null when they could not be read. */
  certificates: string[] | null;
  balances: { irmKey: string; available: string | null; readAt: string | null }[];
}

/**
 * Every certificate number that the party's snapshots of the last days held up to snapshot `of`, as one jsonb value. A
 * snapshot that was restored together with its send contains them all, because some of the later snapshots are younger
 * than the send.
 */
export function certificatesBefore(of: string): string {
  return `CASE WHEN ${of}.brought_back THEN ${of}.certificates ELSE
    (SELECT coalesce(jsonb_agg(DISTINCT held.number), '[]')
       FROM snapshots o, jsonb_array_elements_text(o.certificates) AS held (number)
      WHERE o.party_id = ${of}.party_id AND o.snapshot_id <= ${of}.snapshot_id AND NOT o.brought_back
        AND o.taken_at > ${of}.taken_at - interval '3 days') END`;
}

/** Stores a snapshot for a submission of the exporter, with the balances of its IRMs in the ledger. */
export async function saveSnapshot(
  db: Queryable,
  snapshot: { filingId: string; submission: number; exporterId: string; certificates: string[] | null; at: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO snapshots (filing_id, submission, exporter_id, party_id, taken_at, certificates, balances)
     SELECT $1, $2, $3, (SELECT party_id FROM exporters WHERE exporter_id = $3), $4, $5, ${BALANCES}
       FROM filings WHERE filing_id = $1 AND exporter_id = $3`,
    [
      snapshot.filingId,
      snapshot.submission,
      snapshot.exporterId,
      snapshot.at,
      snapshot.certificates === null ? null : JSON.stringify(snapshot.certificates),
    ],
  );
}

/**
 * Current balances of a submission's IRMs, as one jsonb value; $1 is the filing, $2 the submission, $3 the exporter.
 */
const BALANCES = `coalesce((SELECT jsonb_agg(DISTINCT jsonb_build_object('irmKey', r.irm_key, 'available', i.available::text,
    'readAt', i.read_at)) FROM filing_rows r
    JOIN irms i ON i.exporter_id = r.exporter_id AND ${sameIrm('i.irm_key', 'r.irm_key')}
    WHERE r.filing_id = $1 AND r.submission = $2 AND r.exporter_id = $3), '[]')`;

/** The current balances, in the form of a snapshot's. */
export async function balancesNow(
  db: Queryable,
  { filingId, submission, exporterId }: { filingId: string; submission: number; exporterId: string },
): Promise<Snapshot['balances']> {
  const { rows } = await db.query<{ balances: Snapshot['balances'] }>(`SELECT ${BALANCES} AS balances`, [
    filingId,
    submission,
    exporterId,
  ]);
  return rows[0]?.balances ?? [];
}

/** The snapshot taken before an attempt; null if there is none. */
export async function snapshotOf(db: Queryable, attemptId: string): Promise<Snapshot | null> {
  const { rows } = await db.query<Snapshot>(
    `SELECT s.taken_at AS "takenAt", s.certificates, s.balances FROM snapshots s JOIN attempts a USING (snapshot_id)
      WHERE a.attempt_id = $1`,
    [attemptId],
  );
  return rows[0] ?? null;
}

/** What a snapshot of an exporter's certificates is made from. */
export interface SnapshotSource extends DetailsCaller {
  /**
   * The newest one of its party, taken for any of its filings, that is not older than was asked for; null: there is
   * none, and the service is asked.
   */
  recent: { certificates: string[]; takenAt: Date } | null;
}

export async function readSnapshotSource(db: Queryable, exporterId: string, since: Date): Promise<SnapshotSource> {
  const { rows } = await db.query<DetailsCaller & { certificates: string[] | null; takenAt: Date }>(
    `SELECT own.*, s.certificates, s.taken_at AS "takenAt" FROM (${DETAILS_CALLER}) AS own
       LEFT JOIN LATERAL (SELECT certificates, taken_at FROM snapshots
         WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1) AND taken_at >= $2 AND certificates IS NOT NULL
         ORDER BY taken_at DESC LIMIT 1) AS s ON true`,
    [exporterId, since],
  );
  const { iecCode = null, credentials = null, certificates = null, takenAt } = rows[0] ?? {};
  return { iecCode, credentials, recent: certificates && takenAt ? { certificates, takenAt } : null };
}
