/** What is written into the caller's workbook once its filing has ended. */
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { FilingMissing } from './lock';

export interface Annotation {
  exporterId: string;
  /** The caller's workbook in the document store; null: it was a message. */
  sourceDocument: string | null;
  errors: Finding[];
  warnings: Finding[];
  rows: { row: number; state: string; eBRCNumber: string | null; eBRCDate: string | null; errors: string[] }[];
}

export async function readAnnotation(db: Queryable, filingId: string): Promise<Annotation> {
  const { rows } = await db.query<Annotation>(
    `SELECT f.exporter_id AS "exporterId", i.source_document AS "sourceDocument", f.errors, f.warnings,
            (SELECT coalesce(jsonb_agg(jsonb_build_object('row', source_row, 'state', state, 'eBRCNumber', ebrc_number,
               'eBRCDate', ebrc_date, 'errors', r.errors) ORDER BY position), '[]') FROM filing_rows r WHERE r.filing_id = f.filing_id) AS rows
       FROM filings f JOIN filing_inputs i USING (input_ref) WHERE f.filing_id = $1`,
    [filingId],
  );
  if (!rows[0]) throw new FilingMissing(filingId);
  return rows[0];
}

/** Records the annotated copy; empty: it cannot be written. */
export async function noteAnnotated(db: Queryable, filingId: string, document: string): Promise<void> {
  await db.query('UPDATE filings SET annotated = $2 WHERE filing_id = $1', [filingId, document]);
}
