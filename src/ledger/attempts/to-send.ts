/** What an attempt sends. */
import type { ExtraValues, Mapping } from '../../domain/filing/mapping';
import type { Queryable } from '../pool';
import { FilingMissing } from '../filings/lock';

export interface ToSend {
  exporterId: string;
  uploadType: number;
  declaration: 'Y' | 'N';
  rows: { serialNo: number; sourceRow: number; mapping: Mapping; extra: ExtraValues | null }[];
}

/** A filing's rows with the serial numbers that they are sent with. @throws FilingMissing */
export async function readToSend(db: Queryable, filingId: string): Promise<ToSend> {
  const { rows } = await db.query<ToSend>(
    `SELECT exporter_id AS "exporterId", upload_type AS "uploadType", declaration, (SELECT coalesce(jsonb_agg(jsonb_build_object(
        'serialNo', position + 1, 'sourceRow', source_row, 'mapping', mapping, 'extra', extra) ORDER BY position), '[]')
       FROM filing_rows r WHERE r.filing_id = f.filing_id) AS rows
       FROM filings f WHERE filing_id = $1`,
    [filingId],
  );
  if (!rows[0]) throw new FilingMissing(filingId);
  return rows[0];
}
