import { pruneReconciliation } from '../../ledger/reconciliation/prune';
import type { ActivityDependencies } from '../dependencies';

const DAY_MS = 24 * 3_600_000;
/** Closed findings and ended runs: a financial year and the audit after it. */
const RECONCILIATION_DAYS = 730;

export function createMaintenanceActivities({ pool, clock }: ActivityDependencies) {
  return {
    /**
     * Removes closed findings and ended runs of reconciliations after two years. Filings, certificates and consents are
     * never removed; old audit rows are, by a job of each worker (`src/worker/cleaning.ts`).
     */
    pruneLedger(): Promise<Record<string, number>> {
      return pruneReconciliation(pool, new Date(clock() - RECONCILIATION_DAYS * DAY_MS));
    },
  };
}
