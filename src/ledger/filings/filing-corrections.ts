import type { Queryable } from '../pool';

/** A filing that took over errored rows of another. */
export interface CorrectionRecord {
  filingId: string;
  /** Its number under the reference, from 1. */
  correction: number;
  contentHash: string;
}

/** The filings that correct this one, oldest first. */
export async function listCorrections(db: Queryable, filingId: string): Promise<CorrectionRecord[]> {
  const { rows } = await db.query<CorrectionRecord>(
    `SELECT filing_id AS "filingId", correction, content_hash AS "contentHash"
       FROM filings WHERE corrects = $1 ORDER BY correction, revision`,
    [filingId],
  );
  return rows;
}
