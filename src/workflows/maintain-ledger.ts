import { calls } from './activity-profiles';

export interface MaintainLedgerResult {
  /** Rows removed, by what they were. */
  removed: Record<string, number>;
}

/** Removes what the ledger no longer needs; runs on a schedule. What was filed, and its story, stays for ever. */
export async function maintainLedger(): Promise<MaintainLedgerResult> {
  return { removed: await calls('document', { summary: 'Remove old ledger data' }).pruneLedger() };
}
