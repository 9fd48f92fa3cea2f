import type pg from 'pg';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import type { Hold } from '../../domain/exporter/balance-sums';
import { comparableText, type IrmNames } from '../../domain/identity';
import { checkBalances } from '../../domain/rules/preflight';
import { lockFiling, lockIrms } from '../filings/filing-lock';
import { needFiling } from '../filings/filings';
import { iecWarnings } from '../../domain/exporter/exporter';
import { lockExporter, needExporter } from '../exporters/exporters';
import { heldIrms, irmNumberOf } from '../exporters/irms';
import { certifiedElsewhere } from '../certificates/certificates';
import { collidingClaims } from './live-mappings';
import { MS } from '../paging';
import { withTransaction, type Queryable } from '../pool';

const TO_SEND = 'filing_id = $1 AND live AND submitted_at IS NULL';

async function readRowsToSend(db: Queryable, filingId: string): Promise<MappingRow[]> {
  const { rows } = await db.query<MappingRow>(
    `SELECT source_row AS row, mapping, extra FROM filing_rows WHERE ${TO_SEND} ORDER BY position`,
    [filingId],
  );
  return rows.map(({ row, mapping, extra }) => ({ row, mapping, ...(extra ? { extra } : {}) }));
}

/** What the party's live rows take, or may take, from these IRMs; of `exceptFiling` only rows that were submitted. */
export async function holdsOn(
  db: Queryable,
  { exporterId, irmNumbers, exceptFiling }: { exporterId: string; irmNumbers: string[]; exceptFiling: string | null },
): Promise<Hold[]> {
  const { rows } = await db.query<Hold>(
    `SELECT f.filing_id AS "filingId", f.reference, f.state, r.irm_key AS "irmKey",
            r.mapping->>'irmDt' AS "irmDt", sum(r.mapped_amount)::text AS amount, ${MS('r.submitted_at')} AS "submittedAt",
            r.state <> 'unknown' AS "outcomeKnown",
            CASE WHEN r.state = 'certified' THEN coalesce(${MS('max(r.settled_at)')}, 'infinity') END AS "certifiedAt"
       FROM filing_rows r JOIN filings f USING (filing_id)
      WHERE r.party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)) AND r.live AND r.reserved_at IS NOT NULL
        AND NOT (r.filing_id IS NOT DISTINCT FROM $3 AND r.submitted_at IS NULL)
        AND ${irmNumberOf('r.irm_key')} = ANY($2)
      GROUP BY f.filing_id, f.reference, f.state, r.irm_key, r.mapping->>'irmDt', r.submitted_at, r.state`,
    [exporterId, irmNumbers.map(comparableText), exceptFiling],
  );
  return rows;
}

/** How much the clocks of two workers may differ: the times of a row come from different workers. */
const MAX_CLOCK_SKEW = "interval '1 day'";

/**
 * The numbers of the party's IRMs on which live rows may hold amounts that balances read at `readAt`, or later, do not
 * include. Other IRMs have only certified rows, which their balances include.
 */
export async function numbersHeld(
  db: Queryable,
  { exporterId, readAt }: { exporterId: string; readAt: Date },
): Promise<string[]> {
  const number = irmNumberOf('irm_key');
  const { rows } = await db.query<{ number: string }>(
    `WITH party AS (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1))
     SELECT ${number} AS number FROM filing_rows WHERE party_id = (SELECT party_id FROM party) AND live AND state <> 'certified'
     UNION
     SELECT ${number} FROM filing_rows
      WHERE party_id = (SELECT party_id FROM party) AND live AND state = 'certified' AND settled_at > $2::timestamptz - ${MAX_CLOCK_SKEW}`,
    [exporterId, readAt],
  );
  return rows.map((row) => row.number);
}

/**
 * Checks and reserves a filing's balances, less what other filings hold, under one lock: two filings of 8,000 on 10,000
 * cannot both pass. Call it again after every wait. Refuses a mapping that another filing holds too. `record` stores
 * the findings in the same transaction.
 */
export async function reserveBalances<T>(
  pool: pg.Pool,
  { filingId, at }: { filingId: string; at: Date },
  record: (client: pg.PoolClient, findings: Finding[]) => Promise<T>,
): Promise<T> {
  return withTransaction(pool, async (client) => {
    const { mode, exporterId } = await needFiling(client, filingId);
    const { rows: irms } = await client.query<IrmNames>(
      `SELECT DISTINCT mapping->>'irmNumber' AS "irmNumber", mapping->>'irmAdCode' AS "irmAdCode" FROM filing_rows
        WHERE filing_id = $1`,
      [filingId],
    );
    await lockIrms(client, mode, irms);
    await lockFiling(client, filingId);
    // Read under the lock, so that a row that was planned again meanwhile is checked too.
    const rows = await readRowsToSend(client, filingId);
    const exporter = await lockExporter(client, exporterId);
    const findings = [
      ...(await collidingClaims(client, filingId)),
      ...(await judgeBalances(client, { exporter, exporterId, rows, exceptFiling: filingId })).findings,
      ...(await certifiedElsewhere(client, { partyId: exporter.partyId, rows })),
    ];
    if (!hasErrors(findings)) {
      await client.query(`UPDATE filing_rows SET reserved_at = $2, checked = true WHERE ${TO_SEND}`, [filingId, at]);
    }
    return record(client, findings);
  });
}

/** Checks rows against balances, exporter and certificates, without reserving anything. */
export async function balanceFindings(
  db: Queryable,
  { exporterId, rows }: { exporterId: string; rows: MappingRow[] },
): Promise<Finding[]> {
  const exporter = await needExporter(db, exporterId);
  const { findings } = await judgeBalances(db, { exporter, exporterId, rows, exceptFiling: null });
  return [...findings, ...(await certifiedElsewhere(db, { partyId: exporter.partyId, rows }))];
}

/** Findings about balances and IEC, and when the oldest balance was read; epoch ms, null: an IRM was never read. */
export async function judgeBalances(
  db: Queryable,
  args: {
    exporter: Parameters<typeof iecWarnings>[0];
    exporterId: string;
    rows: MappingRow[];
    exceptFiling: string | null;
  },
): Promise<{ findings: Finding[]; balancesReadAt: number | null }> {
  const { exporter, exporterId, rows, exceptFiling } = args;
  const irmNumbers = [...new Set(rows.map(({ mapping }) => mapping.irmNumber))];
  const irms = await heldIrms(db, exporterId, irmNumbers);
  const holds = await holdsOn(db, { exporterId, irmNumbers, exceptFiling });
  const readNumbers = new Set(irms.map(({ irmNumber }) => comparableText(irmNumber)));
  const allRead = irmNumbers.every((number) => readNumbers.has(comparableText(number)));
  return {
    findings: [...iecWarnings(exporter), ...checkBalances(rows, irms, holds)],
    balancesReadAt: allRead ? Math.min(...irms.map(({ readAt }) => readAt)) : null,
  };
}
