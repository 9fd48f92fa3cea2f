import { calls } from './activity-profiles';

export interface MaintainLedgerResult {
  /** Rows removed, by what they were. */
  removed: Record<string, number>;
}

/** Removes old findings and runs of reconciliations; runs on a schedule. Filings and their events are kept for ever. */
export async function maintainLedger(): Promise<MaintainLedgerResult> {
  return { removed: await calls('document', { summary: 'Remove old ledger data' }).pruneLedger() };
}
