import { API_CALL_DAYS, pruneApiCalls } from '../../ledger/service/api-calls';
import { pruneReconciliation } from '../../ledger/reconciliation/prune';
import type { ActivityDependencies } from '../dependencies';

const DAY_MS = 24 * 3_600_000;
/** Closed findings and ended runs: a financial year and the audit after it. */
const RECONCILIATION_DAYS = 730;

export function createMaintenanceActivities({ pool, clock }: ActivityDependencies) {
  return {
    /** Removes what is older than anybody needs. Filings, certificates and consents are never removed. */
    async pruneLedger(): Promise<Record<string, number>> {
      const before = (days: number) => new Date(clock() - days * DAY_MS);
      return {
        apiCalls: await pruneApiCalls(pool, before(API_CALL_DAYS)),
        ...(await pruneReconciliation(pool, before(RECONCILIATION_DAYS))),
      };
    },
  };
}
