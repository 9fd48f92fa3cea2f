import type { Queryable } from '../pool';
import type { FilingRecord } from './filings';

/** The data that every step on a filing needs for its decision, read under the filing's lock. */
export interface LockedFiling extends Pick<FilingRecord, 'filingId' | 'exporterId' | 'state' | 'seq'> {
  ended: boolean;
  /** It waits for somebody else's approval, whatever its state says. */
  unapproved: boolean;
}

/**
 * Locks a filing until the transaction ends. Every transaction takes its locks in one order (IRMs in key order, then
 * the filing, then attempts and rows), which rules out deadlocks. Null when the ledger does not hold the filing.
 */
export async function lockFiling(client: Queryable, filingId: string): Promise<LockedFiling | null> {
  const { rows } = await client.query<LockedFiling>(
    `SELECT filing_id AS "filingId", exporter_id AS "exporterId", state, seq::int AS seq, closed_at IS NOT NULL AS ended,
            approval_needed AND approved_by IS NULL AS unapproved
       FROM filings WHERE filing_id = $1 FOR UPDATE`,
    [filingId],
  );
  return rows[0] ?? null;
}
