/** Checks a recorded filing before it is sent, with what was read since it was recorded. */
import { iecWarnings } from '../../domain/exporter/exporter';
import type { MappingRow } from '../../domain/filing/mapping';
import { fingerprintOf, irmKey } from '../../domain/identity';
import { judgeObjections, type PermittedDuplicate } from '../../domain/rules/duplicates';
import { errorAt, hasErrors, type Finding } from '../../domain/rules/finding';
import { judgeMappings } from '../../domain/rules/mappings';
import { compareIrms } from '../../domain/rules/preflight';
import { lockExporter } from '../exporters/exporters';
import { heldIrms } from '../exporters/irms';
import type { Queryable } from '../pool';
import { judgeAround, lockCompany, readAround } from './holders';
import type { LockedFiling } from './lock';

interface CheckedRow extends MappingRow {
  position: number;
  beside: string[];
  reason: string | null;
}

async function readRows(db: Queryable, filingId: string): Promise<CheckedRow[]> {
  const { rows } = await db.query<CheckedRow>(
    `SELECT position, source_row AS row, mapping, beside, beside_reason AS reason FROM filing_rows
      WHERE filing_id = $1 AND state = 'planned' ORDER BY position`,
    [filingId],
  );
  return rows;
}

/** What was let in when it was recorded, beside exactly what stood against it then. */
const permitsOf = (rows: readonly CheckedRow[]): PermittedDuplicate[] =>
  rows.flatMap(({ row, beside, reason }) => (reason === null ? [] : { row, besides: beside, reason }));

/**
 * Sets the IEC of a filing and of its rows, which hold their mappings for the company from then on, once the exporter's
 * IEC is known. Requires the locks of the IRMs and of the filing.
 * @returns errors if the company holds a mapping already, or the exporter has another IEC now; then nothing changed
 */
export async function assignIec(client: Queryable, filing: LockedFiling): Promise<Finding[]> {
  const { filingId, mode, reference } = filing;
  const { iec, exporterId } = await lockExporter(client, filing.exporterId);
  if (iec === null || filing.iec === iec) return [];
  if (filing.iec !== null) {
    const text = `The filing was made for IEC ${filing.iec}, and the exporter has ${iec} now. Find out at the portal which is right before it is filed.`;
    return [errorAt(null, 'iec', 'iec_differs', text)];
  }
  const company = { mode, iec, exporterId };
  await lockCompany(client, company);
  const rows = await readRows(client, filingId);
  const { held } = await readAround(client, company, rows, filingId);
  const judged = judgeMappings({ rows, held, reference });
  const { findings } = judgeObjections(judged.objections, permitsOf(rows));
  if (hasErrors(findings)) return findings;
  const changes = rows.map(({ position, mapping, beside }, index) => {
    const { irmNumber, sbCumInvoiceNumber: documentNumber } = mapping;
    const claim = judged.claims[index];
    const fingerprint = fingerprintOf({ mode, company: iec, irmNumber, documentNumber });
    return {
      position,
      fingerprint,
      ordinal: claim?.ordinal,
      beside: [...new Set([...beside, ...(claim?.beside ?? [])])],
    };
  });
  await client.query(
    `WITH filing AS (UPDATE filings SET iec = $2 WHERE filing_id = $1)
     UPDATE filing_rows r SET iec = $2, fingerprint = coalesce(c.fingerprint, r.fingerprint), ordinal = coalesce(c.ordinal, r.ordinal),
            beside = coalesce(c.beside, r.beside)
       FROM filing_rows o LEFT JOIN jsonb_to_recordset($3::jsonb) AS c (position int, fingerprint text, ordinal int, beside text[])
         ON c.position = o.position
      WHERE r.filing_id = $1 AND o.filing_id = $1 AND o.position = r.position`,
    [filingId, iec, JSON.stringify(changes)],
  );
  filing.iec = iec;
  return [...findings, ...judged.warnings];
}

/**
 * What speaks against a filing by the ledger and the last readings: exporter, IRMs, documents, certificates. Balances
 * are left to `reserveBalances`. Requires the locks of the IRMs and of the filing.
 */
export async function checkFiling(client: Queryable, filing: LockedFiling): Promise<Finding[]> {
  const { filingId, mode } = filing;
  const { exporterId, ...exporter } = await lockExporter(client, filing.exporterId);
  const company = { mode, iec: filing.iec, exporterId };
  await lockCompany(client, company);
  const rows = await readRows(client, filingId);
  const { objections, warnings } = judgeAround(rows, await readAround(client, company, rows, filingId), filingId);
  const { findings } = judgeObjections(objections, permitsOf(rows));
  const irms = await heldIrms(client, company, [...new Set(rows.map(({ mapping }) => irmKey(mapping.irmNumber)))]);
  return [...iecWarnings(exporter), ...findings, ...warnings, ...compareIrms(rows, irms)];
}
