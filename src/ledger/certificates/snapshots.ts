import { DETAILS_CALLER, type DetailsCaller } from '../exporters/exporters';
import { sameIrm } from '../exporters/irms';
import type { Queryable } from '../pool';
import type { SubmissionKey } from '../../domain/filing/attempt';

/** The balance of an IRM, before a send or now. Comparing the two helps to settle an unknown outcome. */
export interface Balance {
  irmKey: string;
  available: string | null;
  readAt: string | null;
}

/** SQL: the numbers on the party's lists of the last days up to a snapshot, as jsonb. Each is noted every two days. */
export function certificatesBefore(snapshot: string): string {
  return `CASE WHEN ${snapshot}.certificates IS NOT NULL THEN ${snapshot}.certificates ELSE
    (SELECT coalesce(jsonb_agg(DISTINCT seen.ebrc_number), '[]') FROM listed_certificates seen
      WHERE seen.party_id = ${snapshot}.party_id AND seen.snapshot_id <= ${snapshot}.snapshot_id
        AND seen.taken_at > ${snapshot}.taken_at - interval '5 days') END`;
}

/** Stores a snapshot with the IRMs' balances in one statement, so that nothing is missing up to its own number. */
export async function saveSnapshot(
  db: Queryable,
  args: SubmissionKey & {
    exporterId: string;
    /** Numbers of today and yesterday; null: not readable; recent: those of the party's snapshot since `at`. */
    certificates: readonly string[] | 'recent' | null;
    at: Date;
  },
): Promise<void> {
  const { certificates, ...snapshot } = args;
  await db.query(
    `WITH snapshot AS (
       INSERT INTO snapshots (filing_id, submission, exporter_id, party_id, taken_at, listed, balances)
       SELECT $1, $2, $3, e.party_id, $4, CASE WHEN $6 THEN (${recentList('e.party_id', '$4')}) ELSE cardinality($5::text[]) END, ${BALANCES}
         FROM filings f JOIN exporters e USING (exporter_id) WHERE f.filing_id = $1 AND f.exporter_id = $3
       RETURNING snapshot_id, party_id, taken_at)
     INSERT INTO listed_certificates (party_id, ebrc_number, snapshot_id, taken_at)
     SELECT DISTINCT party_id, number, snapshot_id, taken_at FROM snapshot, unnest($5::text[]) AS number
      WHERE NOT EXISTS (SELECT FROM listed_certificates l WHERE l.party_id = snapshot.party_id AND l.ebrc_number = number
        AND l.taken_at > snapshot.taken_at - interval '2 days')`,
    [
      snapshot.filingId,
      snapshot.submission,
      snapshot.exporterId,
      snapshot.at,
      certificates === 'recent' ? null : certificates,
      certificates === 'recent',
    ],
  );
}

/** SQL: the size of the party's newest list of certificates that was read at `since` or later. */
const recentList = (party: string, since: string, column = 'listed') =>
  `SELECT ${column} FROM snapshots WHERE party_id = ${party} AND taken_at >= ${since} AND listed IS NOT NULL AND certificates IS NULL
    ORDER BY taken_at DESC LIMIT 1`;

/** SQL: balances of a submission's IRMs as jsonb, one per IRM record. $1: filing, $2: submission, $3: exporter. */
const BALANCES = `coalesce((SELECT jsonb_agg(jsonb_build_object('irmKey', i.irm_key, 'available', i.available::text,
    'readAt', i.read_at) ORDER BY i.irm_key, i.issue_date, i.ifsc_code)
    FROM (SELECT DISTINCT exporter_id, irm_key FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND exporter_id = $3) AS r
    JOIN irms i ON i.exporter_id = r.exporter_id AND ${sameIrm('i.irm_key', 'r.irm_key')}), '[]')`;

export async function balancesNow(
  db: Queryable,
  { filingId, submission, exporterId }: SubmissionKey & { exporterId: string },
): Promise<Balance[]> {
  const { rows } = await db.query<{ balances: Balance[] }>(`SELECT ${BALANCES} AS balances`, [
    filingId,
    submission,
    exporterId,
  ]);
  return rows[0]?.balances ?? [];
}

/** The data for a new snapshot. `recent`: the party's newest list since `since`; null: the service must be asked. */
export async function readSnapshotSource(db: Queryable, exporterId: string, since: Date) {
  const { rows } = await db.query<DetailsCaller & { listed: number | null; takenAt: Date }>(
    `SELECT own.*, s.listed, s.taken_at AS "takenAt" FROM (${DETAILS_CALLER}) AS own
       LEFT JOIN LATERAL (${recentList('(SELECT party_id FROM exporters WHERE exporter_id = $1)', '$2', 'listed, taken_at')}) AS s ON true`,
    [exporterId, since],
  );
  const { iecCode = null, credentials = null, listed = null, takenAt } = rows[0] ?? {};
  return { iecCode, credentials, recent: listed !== null && takenAt ? { listed, takenAt } : null };
}
