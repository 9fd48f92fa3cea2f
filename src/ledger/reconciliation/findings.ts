/** Findings of a comparison: merged with the open ones, and listed for repair. */
import {
  isOfCompany,
  kindsOfChecks,
  type FindingKind,
  type ReconcileCheck,
} from '../../domain/reconciliation/findings';
import type { Mode } from '../../domain/names';
import type { Company } from '../exporters/exporters';
import { SAME_AS_ACKNOWLEDGED, openFinding } from '../findings';
import type { Queryable } from '../pool';
import type { VanishedCertificate } from '../certificates/certificates';

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
        AND (f.on_date IS NULL OR EXISTS (SELECT FROM read_windows w WHERE w.whole AND f.on_date BETWEEN w.from_date AND w.to_date))`,
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

/** Opens a finding for each certificate that vanished, and closes those of certificates that are listed again. */
export async function judgeVanished(
  client: Queryable,
  args: { mode: Mode; iec: string; vanished: readonly VanishedCertificate[]; listed: readonly string[] },
): Promise<void> {
  const { mode, iec, vanished, listed } = args;
  await client.query(
    `UPDATE findings SET closed_at = clock_timestamp()
      WHERE mode = $1 AND iec = $2 AND kind = 'ours_not_theirs' AND closed_at IS NULL AND ebrc_number = ANY($3)`,
    [mode, iec, listed],
  );
  for (const { eBRCNumber, exporterId, issuedOn, amount, currency } of vanished) {
    const reason = 'fetch-details listed this certificate before, and does not list it any more';
    const about = { exporterId, eBRCNumber, onDate: issuedOn, amount, currency, reason };
    await openFinding(client, { mode, iec, kind: 'ours_not_theirs', subject: eBRCNumber, ...about });
  }
}
