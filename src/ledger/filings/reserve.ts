/** Reserves the balances of a filing's IRMs. */
import { judgeBalances, type Hold } from '../../domain/exporter/balance-sums';
import { MINUTE_MS } from '../../domain/dates';
import type { MappingRow } from '../../domain/filing/mapping';
import { irmKey } from '../../domain/identity';
import { errorAt, hasErrors, type Finding } from '../../domain/rules/finding';
import { compareIrms } from '../../domain/rules/preflight';
import { clientsOfCompany, type Company } from '../exporters/exporters';
import { heldIrms } from '../exporters/irms';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import type { LockedFiling } from './lock';

export interface Reservation {
  /**
   * `short`: only through what others have sent, so that their outcomes decide: wait. `stale`: the balances must be
   * read afresh before it can be refused.
   */
  outcome: 'reserved' | 'short' | 'stale' | 'refused';
  findings: Finding[];
}

/** A reading that began within this refuses what it does not cover. */
const AFRESH_MS = 5 * MINUTE_MS;

/**
 * Reserves what a filing's planned rows map, so that two filings of 8,000 on 10,000 cannot both pass. Call it again
 * after every wait. Requires the locks of the IRMs and of the filing.
 */
export async function reserveBalances(client: Queryable, filing: LockedFiling): Promise<Reservation> {
  const { filingId, mode, iec, exporterId } = filing;
  const company = { mode, iec, exporterId };
  const rows = await plannedRows(client, filingId);
  const irmKeys = [...new Set(rows.map(({ mapping }) => irmKey(mapping.irmNumber)))];
  const irms = await heldIrms(client, company, irmKeys);
  const holds = await holdsOn(client, { ...company, irmKeys, exceptFiling: filingId });
  const missing = compareIrms(rows, irms).filter(({ code }) => code === 'irm_missing');
  const short = judgeBalances(rows, irms, holds);
  const findings = [...missing, ...short.map(({ finding }) => finding)];
  if (rows.length === 0) findings.push(errorAt(null, null, 'nothing_planned', 'No row of it is to be sent any more.'));
  const outcome = !hasErrors(findings)
    ? 'reserved'
    : missing.length === 0 && short.length > 0 && short.every(({ waits }) => waits)
      ? 'short'
      : (await wasReadAfresh(client, exporterId, Math.max(0, ...short.flatMap(({ certifiedAt }) => certifiedAt ?? []))))
        ? 'refused'
        : 'stale';
  await client.query('UPDATE filings SET reserved_at = CASE WHEN $2 THEN clock_timestamp() END WHERE filing_id = $1', [
    ...[filingId, outcome === 'reserved'],
  ]);
  return { outcome, findings };
}

/** The rows of a filing that are to be sent. */
async function plannedRows(db: Queryable, filingId: string): Promise<MappingRow[]> {
  const { rows } = await db.query<MappingRow>(
    `SELECT source_row AS row, mapping, extra FROM filing_rows WHERE filing_id = $1 AND state = 'planned' ORDER BY position`,
    [filingId],
  );
  return rows;
}

/** Whether the IRMs were read within minutes, and since the last certificate that was counted beside them. */
async function wasReadAfresh(client: Queryable, exporterId: string, certifiedAt: number): Promise<boolean> {
  const { rows } = await client.query<{ afresh: boolean }>(
    `SELECT coalesce(irms_refreshed_at > clock_timestamp() - $2::float8 * interval '1 ms' AND ${MS('irms_refreshed_at')} > $3, false) AS afresh
       FROM exporters WHERE exporter_id = $1`,
    [exporterId, AFRESH_MS, certifiedAt],
  );
  return rows[0]?.afresh ?? false;
}

/**
 * What a company's rows hold of these IRMs: planned ones that are reserved, sent and certified ones. The planned rows
 * of `exceptFiling` are what it asks for.
 */
export async function holdsOn(
  db: Queryable,
  {
    mode,
    iec,
    exporterId,
    irmKeys,
    exceptFiling = null,
  }: Company & { irmKeys: readonly string[]; exceptFiling?: string | null },
): Promise<Hold[]> {
  const { rows } = await db.query<Hold>(
    `WITH own AS (
       SELECT r.* FROM filing_rows r WHERE r.mode = $1 AND r.iec = $2 AND r.irm_key = ANY($4) AND r.held
       UNION ALL
       SELECT r.* FROM filings f JOIN filing_rows r USING (filing_id)
        WHERE f.mode = $1 AND f.iec IS NULL AND f.closed_at IS NULL AND r.irm_key = ANY($4) AND r.held
          AND f.exporter_id IN ${clientsOfCompany('$1', '$2', '$3')}
     )
     SELECT f.filing_id AS "filingId", f.reference, f.n, f.state, r.irm_key AS "irmKey", r.mapping->>'irmDt' AS "irmDt",
            r.mapping->>'irmAdCode' AS "irmAdCode", sum(r.amount)::text AS amount, r.state AS kind,
            CASE WHEN r.state = 'certified' THEN ${MS('max(r.settled_at)')} END AS "certifiedAt"
       FROM own r JOIN filings f USING (filing_id)
      WHERE r.state <> 'planned' OR (f.reserved_at IS NOT NULL AND f.filing_id IS DISTINCT FROM $5)
      GROUP BY f.filing_id, r.state, r.irm_key, r.mapping->>'irmDt', r.mapping->>'irmAdCode', r.settled_at
      ORDER BY f.made_at, f.filing_id`,
    [mode, iec, exporterId, irmKeys, exceptFiling],
  );
  return rows;
}
