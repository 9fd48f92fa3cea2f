/** What a reading of IRMs shows about IRMs on which rows of ours have amounts: missing, cancelled, or cut. */
import { CANCELLED_STATUS } from '../../domain/rules/preflight';
import type { FindingKind } from '../../domain/reconciliation/findings';
import { CANCELLED, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import { clientsOfCompany, type Company } from '../exporters/exporters';
import { keyOfFinding, openFinding } from '../findings';
import type { Queryable } from '../pool';

const KINDS = ['irm_missing', 'irm_cancelled', 'irm_reduced'] as const satisfies readonly FindingKind[];

interface FoundIrm {
  kind: (typeof KINDS)[number];
  irmKey: string;
  irmNumber: string;
  exporterId: string;
  currency: string | null;
  /** The value at risk: what is certified on it, or held where nothing is. */
  risk: string;
  amount: string | null;
  certified: string;
}

const FOUND = `WITH ours AS (
    SELECT r.irm_key, coalesce(sum(r.amount) FILTER (WHERE r.state = 'certified' AND NOT ${CANCELLED}), 0) AS certified, sum(r.amount) AS held
      FROM filing_rows r LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE}
     WHERE r.mode = $1 AND r.iec = $2 AND r.held GROUP BY r.irm_key),
  latest AS (
    SELECT DISTINCT ON (irm_key, issue_date, ad_code, ifsc_code) * FROM irms
     WHERE exporter_id IN ${clientsOfCompany('$1', '$2', '$3')} AND irm_key IN (SELECT irm_key FROM ours)
     ORDER BY irm_key, issue_date, ad_code, ifsc_code, missing_since IS NOT NULL, read_at DESC),
  irm AS (
    SELECT irm_key, min(irm_number) AS number, min(exporter_id) AS exporter_id, min(currency) AS currency,
           bool_and(missing_since IS NOT NULL) AS missing,
           bool_or(missing_since IS NULL AND status ~* '${CANCELLED_STATUS}') AS cancelled,
           CASE WHEN bool_and(amount IS NOT NULL) FILTER (WHERE missing_since IS NULL)
                THEN sum(amount) FILTER (WHERE missing_since IS NULL) END AS amount
      FROM latest GROUP BY irm_key)
  SELECT k.kind, i.irm_key AS "irmKey", i.number AS "irmNumber", i.exporter_id AS "exporterId", i.currency,
         (CASE WHEN o.certified > 0 THEN o.certified ELSE o.held END)::text AS risk, i.amount::text AS amount, o.certified::text AS certified
    FROM irm i JOIN ours o USING (irm_key) CROSS JOIN LATERAL (
      SELECT CASE WHEN i.missing THEN 'irm_missing' WHEN i.cancelled THEN 'irm_cancelled'
                  WHEN i.amount < o.certified THEN 'irm_reduced' END AS kind) AS k
   WHERE k.kind IS NOT NULL ORDER BY i.irm_key`;

/** Opens, renews and closes the findings about a company's IRMs, by what the ledger has of them now. */
export async function judgeIrms(client: Queryable, company: Company): Promise<void> {
  const { mode, iec, exporterId } = company;
  if (iec === null) return;
  const { rows: found } = await client.query<FoundIrm>(FOUND, [mode, iec, exporterId]);
  const keys: string[] = [];
  for (const { kind, irmKey, irmNumber, currency, risk, amount, certified, ...irm } of found) {
    const key = { mode, iec, kind, subject: irmKey };
    keys.push(keyOfFinding(key));
    const sides = { ours: { certified }, theirs: { remittanceFCCAmount: amount } };
    await openFinding(client, { ...key, exporterId: irm.exporterId, irmNumber, amount: risk, currency, ...sides });
  }
  await client.query(
    `UPDATE findings SET closed_at = clock_timestamp()
      WHERE mode = $1 AND iec = $2 AND kind = ANY($3) AND closed_at IS NULL AND key <> ALL($4)`,
    [mode, iec, KINDS, keys],
  );
}
