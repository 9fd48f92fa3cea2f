import type { Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';

/**
 * Transfers a filing's errored rows to the filing that corrects them, by serial number. Rows that are certified, or
 * that another correction has taken, are refused by name: a correction refiles only errored rows.
 */
export async function takeOverRows(
  client: Queryable,
  { parent, filingId, rows }: { parent: string; filingId: string; rows: readonly MappingRow[] },
): Promise<Finding[]> {
  await lockFiling(client, parent);
  const { rows: waiting } = await client.query<{ serialNo: number; state: string; takenOverBy: string | null }>(
    `SELECT (mapping->>'serialNo')::int AS "serialNo", state, taken_over_by AS "takenOverBy"
       FROM filing_rows WHERE filing_id = $1 FOR UPDATE`,
    [parent],
  );
  const bySerial = new Map(waiting.map((row) => [row.serialNo, row]));
  const findings = rows.flatMap((row): Finding[] => {
    const serialNo = row.mapping.serialNo;
    const before = bySerial.get(serialNo);
    if (before?.state === 'needs_correction') return [];
    const why = !before
      ? `filing ${parent} has no row with serialNo ${serialNo}`
      : before.takenOverBy
        ? `filing ${before.takenOverBy} corrects it already`
        : `it is ${before.state} in filing ${parent}`;
    return [
      {
        severity: 'error',
        code: 'not_correctable',
        row: row.row,
        field: 'serialNo',
        filingId: before?.takenOverBy ?? parent,
        message: `Row ${row.row} is not waiting for a correction: ${why}. Leave it out.`,
      },
    ];
  });
  if (findings.length > 0) return findings;
  await client.query(
    `UPDATE filing_rows SET state = 'corrected', taken_over_by = $2
      WHERE filing_id = $1 AND (mapping->>'serialNo')::int = ANY($3)`,
    [parent, filingId, rows.map((row) => row.mapping.serialNo)],
  );
  await updateCorrectionAttention(client, parent);
  return [];
}

/** Returns rows to their original filing, if the correction itself was refused and nothing of it was sent. */
export async function giveRowsBack(client: Queryable, filingId: string): Promise<void> {
  const { rows } = await client.query<{ parent: string }>(
    `UPDATE filing_rows SET state = 'needs_correction', taken_over_by = NULL
      WHERE taken_over_by = $1 AND state = 'corrected' RETURNING filing_id AS parent`,
    [filingId],
  );
  for (const parent of new Set(rows.map((row) => row.parent))) await updateCorrectionAttention(client, parent);
}

/** An ended filing needs attention only while rows of it wait for a correction. */
async function updateCorrectionAttention(client: Queryable, filingId: string): Promise<void> {
  await client.query(
    `UPDATE filings SET needs_attention = waiting.n > 0,
        attention = CASE WHEN waiting.n > 0
          THEN waiting.n || ' of its rows wait for a correction: ebrc correct ' || filings.filing_id || ' FILE' END
       FROM (SELECT count(*) AS n FROM filing_rows WHERE filing_id = $1 AND state = 'needs_correction') AS waiting
      WHERE filings.filing_id = $1 AND filings.closed_at IS NOT NULL`,
    [filingId],
  );
}
