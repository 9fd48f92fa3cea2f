/** Findings of a comparison: merged with the open ones, explained, and listed for repair. */
import {
  isOfCompany,
  kindsOfChecks,
  type FindingKind,
  type ReconcileCheck,
} from '../../domain/reconciliation/findings';
import { nearMatcher, type NearSide } from '../../domain/reconciliation/near-match';
import type { Mode } from '../../domain/names';
import type { Company } from '../exporters/exporters';
import { SAME_AS_ACKNOWLEDGED } from '../findings';
import type { Queryable } from '../pool';

/** Opens, renews and closes findings according to the temporary tables of a comparison. */
export async function mergeFindings(
  client: Queryable,
  { mode, iec, exporterId, checks }: Company & { checks: readonly ReconcileCheck[] },
): Promise<{ opened: number; closed: number; open: number }> {
  const kinds = kindsOfChecks(checks);
  await client.query(
    `UPDATE current_findings SET key = CASE WHEN kind = ANY($1) THEN kind || '|' || coalesce($2, '') || '|' || subject
       ELSE kind || '|' || subject END`,
    [kinds.filter(isOfCompany), iec],
  );
  await client.query(
    `UPDATE findings f SET last_seen_at = clock_timestamp(), iec = $2, exporter_id = c.exporter_id, filing_id = c.filing_id,
        source_row = c.source_row, amount = c.amount, currency = c.currency, ours = c.ours, theirs = c.theirs, reason = c.reason, on_date = c.on_date,
        acknowledged_at = CASE WHEN ${SAME_AS_ACKNOWLEDGED('c')} THEN f.acknowledged_at END
       FROM current_findings c WHERE f.mode = $1 AND f.closed_at IS NULL AND f.key = c.key`,
    [mode, iec],
  );
  const opened = await client.query(
    `INSERT INTO findings (mode, iec, key, kind, exporter_id, ebrc_number, filing_id, source_row, irm_number, on_date,
        amount, currency, ours, theirs, reason, first_seen_at, last_seen_at)
     SELECT $1, $2, key, kind, exporter_id, ebrc_number, filing_id, source_row, irm_number, on_date, amount, currency, ours,
        theirs, reason, clock_timestamp(), clock_timestamp() FROM current_findings
     ON CONFLICT (mode, key) WHERE closed_at IS NULL DO NOTHING`,
    [mode, iec],
  );
  // An answer without any known certificate has probably failed, so it closes nothing.
  const { rows: shown } = checks.includes('certificates')
    ? await client.query<{ showed: boolean }>('SELECT coalesce(bool_or(seen), true) AS showed FROM covered')
    : { rows: [] };
  const closable =
    shown[0]?.showed === false ? kindsOfChecks(checks.filter((check) => check !== 'certificates')) : kinds;
  const ofCompany =
    'f.mode = $1 AND (f.iec = $2 OR (f.iec IS NULL AND f.exporter_id = $3)) AND f.closed_at IS NULL AND f.kind = ANY($4)';
  const closed = await client.query(
    `UPDATE findings f SET closed_at = clock_timestamp()
      WHERE ${ofCompany} AND NOT EXISTS (SELECT FROM current_findings c WHERE c.key = f.key)
        AND (f.on_date IS NULL OR EXISTS (SELECT FROM read_windows w WHERE f.on_date BETWEEN w.from_date AND w.to_date))`,
    [mode, iec, exporterId, closable],
  );
  const { rows } = await client.query<{ open: number }>(
    `SELECT count(*)::int AS open FROM findings f WHERE ${ofCompany}`,
    [mode, iec, exporterId, kinds],
  );
  return { opened: opened.rowCount ?? 0, closed: closed.rowCount ?? 0, open: rows[0]?.open ?? 0 };
}

/** A finding about a PDF, which a repair may remove. */
export interface RepairableFinding {
  kind: Extract<FindingKind, 'pdf_missing' | 'pdf_damaged'>;
  exporterId: string;
  eBRCNumber: string;
}

export async function repairable(
  db: Queryable,
  { mode, iec, limit }: { mode: Mode; iec: string; limit: number },
): Promise<RepairableFinding[]> {
  const { rows } = await db.query<RepairableFinding>(
    `SELECT kind, exporter_id AS "exporterId", ebrc_number AS "eBRCNumber" FROM findings
      WHERE mode = $1 AND iec = $2 AND closed_at IS NULL AND kind IN ('pdf_missing', 'pdf_damaged')
      ORDER BY first_seen_at, finding_id LIMIT $3`,
    [mode, iec, limit],
  );
  return rows;
}

const NEAR_MATCHES = 2_000;

/** Adds to each finding about a certificate that is nobody's the rows of ours that nearly match it. */
export async function explainNearMatches(db: Queryable, { mode, iec }: { mode: Mode; iec: string }): Promise<void> {
  const sides = await readUnmatched(db, { mode, iec });
  const near = nearMatcher(sides.filter(({ side }) => side === 'ours'));
  const reasons = sides
    .filter(({ side }) => side === 'theirs')
    .flatMap((theirs) => {
      const matches = near(theirs);
      if (matches.length === 0) return [];
      const text = matches.map((match) => `${match.id} (${match.reasons.join(', ')})`).join('; ');
      return [{ id: theirs.id, reason: `no row of ours matches in every field; near matches: ${text}` }];
    });
  if (reasons.length === 0) return;
  await db.query(
    `UPDATE findings f SET reason = r.reason FROM jsonb_to_recordset($1::jsonb) AS r (id bigint, reason text)
      WHERE f.finding_id = r.id`,
    [JSON.stringify(reasons)],
  );
}

/** Certificates and rows of a company without each other, at most {@link NEAR_MATCHES} of each side. */
async function readUnmatched(
  db: Queryable,
  { mode, iec }: { mode: Mode; iec: string },
): Promise<(NearSide & { side: 'ours' | 'theirs' })[]> {
  const { rows } = await db.query<NearSide & { side: 'ours' | 'theirs' }>(
    `(SELECT 'theirs' AS side, finding_id::text AS id, theirs->>'document' AS document, theirs->>'documentDate' AS date,
             theirs->>'amount' AS amount, theirs->>'currency' AS currency
        FROM findings WHERE mode = $1 AND iec = $2 AND closed_at IS NULL AND kind = 'theirs_not_ours' AND ours IS NULL LIMIT $3)
     UNION ALL
     (SELECT 'ours', r.filing_id || ' row ' || r.source_row, r.mapping->>'sbCumInvoiceNumber', r.mapping->>'sbCumInvoiceDate',
             r.amount::text, r.currency
        FROM filing_rows r
       WHERE r.mode = $1 AND r.iec = $2 AND (r.state IN ('planned', 'sent')
          OR EXISTS (SELECT FROM findings o WHERE o.mode = $1 AND o.iec = $2 AND o.closed_at IS NULL AND o.kind = 'ours_not_theirs'
               AND o.ebrc_number = r.ebrc_number)) LIMIT $3)`,
    [mode, iec, NEAR_MATCHES],
  );
  return rows;
}
